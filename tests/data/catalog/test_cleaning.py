from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import train_test_split

from attentest.data.catalog.cleaning import (
    Limits,
    cleaned,
    csv_records,
    drawn,
    held_out,
    instances,
    parts_of,
    shuffled,
    shuffled_rows,
    streamed,
)
from attentest.data.corpora.declared import Declared, Instance, Prepared, Rows
from attentest.data.corpora.official_files import found
from attentest.errors import InputError


class Given(Rows):
    """Made-up rows."""

    def __init__(self, **splits: list[dict[str, Any]]) -> None:
        self.splits = splits

    def __call__(self, split: str) -> list[dict[str, Any]]:
        return self.splits[split]

    def has(self, split: str) -> bool:
        return split in self.splits


def counts(prepared: Prepared) -> dict[str, dict[str, int]]:
    """Instances by split and class; every split is read to its end, and what must hold of all is checked."""
    found = {}
    for split, stream in prepared.splits.items():
        texts = list(stream)
        assert len({text.id for text in texts}) == len(texts)
        assert [text.id for text in texts] == sorted((text.id for text in texts), key=shuffled)
        for text in texts:
            assert text.tokens
            assert text.rationale is None or len(text.rationale) == len(text.tokens)
        labels = Counter(text.label for text in texts)
        found[split] = {name: labels[number] for number, name in enumerate(prepared.classes)}
    return found


def on_this_machine(corpus: Declared) -> Rows:
    """The real rows, where ATTENTEST_DATA names a folder that has them."""
    folder = Path(os.environ.get("ATTENTEST_DATA", "/nowhere")) / (corpus.folder or corpus.name)
    if not folder.is_dir():
        pytest.skip(f"{corpus.name} is not under ATTENTEST_DATA")
    from attentest.data.catalog.raw import RowsOnDisk

    return RowsOnDisk(corpus)


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """A made-up folder of official files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def texts_of(lengths: Iterable[int]) -> list[Instance]:
    return [Instance(f"t{number}", ["w"] * length, 0) for number, length in enumerate(lengths)]


# ── tokens ──


def test_tokens_are_lower_case_and_digits_are_masked() -> None:
    assert list(cleaned(["It's  99\nRed-hot B2B!", ""])) == [["it", "'s", "qqq", "red", "-", "hot", "qqq", "!"], []]
    assert next(cleaned(["In 1999"], mask_digits=False)) == ["in", "1999"]


def test_a_word_falls_into_tokens() -> None:
    assert parts_of("Great.") == ("great", ".")
    assert parts_of("wasn't") == ("was", "n't")


def test_rows_stay_with_their_tokens() -> None:
    rows = [{"id": str(i), "text": f"word{'x' * (i % 400)} here", "label": i % 2} for i in range(3000)]
    made = list(instances(rows, lambda row: row["text"], lambda row: row["label"]))
    assert [(m.id, m.tokens[0], m.label) for m in made] == [(r["id"], r["text"].split()[0], r["label"]) for r in rows]


# ── lengths ──


def test_limits_are_strict_at_both_ends() -> None:
    left_out: list[str] = []
    kept = Limits(2, 5).within("train", texts_of([0, 2, 3, 4, 5, 9]), left_out)
    assert [len(text.tokens) for text in kept] == [3, 4]
    assert left_out == ["train: 2 texts left out: 2 tokens or fewer", "train: 2 texts left out: 5 tokens or more"]


def test_a_limit_that_is_not_given_is_the_splits_own_extreme() -> None:
    left_out: list[str] = []
    kept = Limits().within("dev", texts_of([3, 1, 1, 7, 2]), left_out)
    assert [len(text.tokens) for text in kept] == [3, 2]
    assert left_out == ["dev: 2 texts left out: 1 tokens or fewer", "dev: 1 text left out: 7 tokens or more"]


def test_without_the_strict_rule_only_empty_texts_go() -> None:
    left_out: list[str] = []
    assert len(Limits(strict=False).within("dev", texts_of([0, 1, 7]), left_out)) == 2
    assert left_out == ["dev: 1 text left out: no tokens"]
    assert Limits().within("dev", [], left_out) == []


@given(st.lists(st.integers(0, 8)))
def test_a_stream_is_limited_as_a_list_is(lengths: list[int]) -> None:
    one: list[str] = []
    other: list[str] = []
    assert list(Limits(2, 6).passing("s", texts_of(lengths), one)) == Limits(2, 6).within("s", texts_of(lengths), other)
    assert one == other


# ── orders and splits ──


def test_hash_order_is_the_same_in_one_pass_or_many() -> None:
    rows = [{"id": f"r{number}"} for number in range(200)]
    whole = list(shuffled_rows(lambda: rows, 200))
    assert whole == list(shuffled_rows(lambda: rows[::-1], 200, at_once=30))
    assert [row["id"] for row in whole] == sorted((row["id"] for row in rows), key=shuffled)


@pytest.mark.slow
@settings(deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=30, max_size=80).filter(lambda y: min(Counter(y).values()) > 4),
    st.integers(0, 2**31 - 1),
)
def test_a_draw_is_scikit_learns_to_the_row(labels: list[int], seed: int) -> None:
    kept, taken = train_test_split(range(len(labels)), stratify=labels, test_size=0.2, random_state=seed)
    assert drawn(labels, 0.2, seed) == (kept, taken)


def test_a_draw_is_scikit_learns_on_real_sizes() -> None:
    labels = np.random.default_rng(0).integers(0, 2, 1993).tolist()
    kept, taken = train_test_split(range(1993), stratify=labels, test_size=0.2, random_state=13478)
    assert drawn(labels, 0.2, 13478) == (kept, taken)


def test_a_tenth_is_held_out_of_every_class() -> None:
    ids = [f"r{number}" for number in range(100)]
    dev = held_out(ids, [number % 2 for number in range(100)])
    assert Counter(int(name[1:]) % 2 for name in dev) == {0: 5, 1: 5}


def test_streams_cover_every_labelled_row_once() -> None:
    rows = {
        split: [
            {"id": f"{split}{n}", "text": "" if n == 7 else f"text {n}", "label": [0, 1, None][n % 3]}
            for n in range(90)
        ]
        for split in ("train", "test")
    }
    left_out: list[str] = []
    parts = streamed(Given(**rows), lambda row: row["text"], lambda row: row["label"], left_out)
    found = {split: list(stream) for split, stream in parts.items()}
    assert {split: len(texts) for split, texts in found.items()} == {"train": 53, "dev": 6, "test": 59}
    assert not {text.id for text in found["dev"]} & {text.id for text in found["train"]}
    assert left_out == ["train: 1 text left out: no tokens", "test: 1 text left out: no tokens"]


# ── files ──


def test_the_shallowest_official_file_is_found(tmp_path: Path) -> None:
    written(tmp_path, {"a/b/train.csv": "", "c/train.csv": ""})
    assert found(tmp_path, "train.csv") == tmp_path / "c" / "train.csv"
    with pytest.raises(InputError, match=r"has no file no.csv: give the folder that holds the official files\.$"):
        found(tmp_path, "no.csv")


def test_records_are_read_packed_or_not_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b'1,"a\nb"\n\n2,c\n'))
    assert list(csv_records(path, columns=(2,))) == [["1", "a\nb"], ["2", "c"]]
    with pytest.raises(InputError, match=r"record 1 has 2 columns, not 3\.$"):
        list(csv_records(path, columns=(3,)))


def test_damaged_records_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"1,a\n" * 10_000)[:-20])
    with pytest.raises(InputError, match=r"x.csv.gz cannot be read after record \d+ \(.*\): get it again\.$"):
        list(csv_records(path))
    (tmp_path / "y.csv").write_bytes(b"1,\xff\n")
    with pytest.raises(InputError, match=r"y.csv cannot be read after record 0"):
        list(csv_records(tmp_path / "y.csv"))

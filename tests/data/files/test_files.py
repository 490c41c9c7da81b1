from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.data.corpus import Corpus
from attentest.data.files.to_corpus import corpus_from_files
from attentest.data.splits import same_text
from attentest.errors import InputError, UnknownName

ROWS: list[dict[str, object]] = [
    {"text": f"Film {i} isn't {('bad', 'good')[i % 2]}", "label": ("neg", "pos")[i % 2]} for i in range(40)
]


def written(path: Path, rows: list[dict[str, object]]) -> Path:
    """The rows in the format the path's name ends with."""
    lines = "\n".join(json.dumps(row) for row in rows)
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), delimiter="\t" if ".tsv" in path.name else ",")
    writer.writeheader()
    writer.writerows(rows)
    content = (lines if ".jsonl" in path.name or ".ndjson" in path.name else out.getvalue()).encode()
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def content(corpus: Corpus) -> dict[str, list[dict[str, object]]]:
    return {name: split.table.to_pylist() for name, split in corpus.splits.items()}


FORMATS = ["csv", "tsv", "jsonl", "ndjson", "parquet", "csv.gz", "tsv.gz", "jsonl.gz"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_gives_the_same_corpus(tmp_path: Path, suffix: str) -> None:
    corpus = corpus_from_files(written(tmp_path / f"films.{suffix}", ROWS))
    (tmp_path / "plain").mkdir()
    plain = corpus_from_files(written(tmp_path / "plain" / "films.csv", ROWS))
    assert corpus.name == "films"
    assert corpus.classes == ("neg", "pos")
    assert corpus.digest == plain.digest
    assert ["film", "1", "is", "n't", "good"] in [
        t for s in corpus.splits.values() for t in s.table["tokens"].to_pylist()
    ]


def test_rows_are_split_by_class_and_every_row_is_kept(tmp_path: Path) -> None:
    corpus = corpus_from_files(written(tmp_path / "films.csv", ROWS))
    for split in corpus.splits.values():
        assert set(split.labels.tolist()) == {0, 1}
    ids = [name for split in corpus.splits.values() for name in split.ids]
    assert sorted(ids) == sorted(f"films-{i}" for i in range(1, 41))
    assert "dev and test cut from train by a hash of the text" in corpus.provenance.preparation


def test_the_texts_decide_the_split_whatever_the_tokenizer_and_the_order(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    path, turned = written(tmp_path / "films.csv", ROWS), written(tmp_path / "b" / "films.csv", ROWS[::-1])
    texts = [
        {
            name: {same_text(tokens) for tokens in split.table["tokens"].to_pylist()}
            for name, split in one.splits.items()
        }
        for one in (
            corpus_from_files(path),
            corpus_from_files(path, tokenizer="whitespace", lowercase=False),
            corpus_from_files(turned),
        )
    ]
    assert texts[0] == texts[1] == texts[2]


def test_rows_of_one_text_never_stand_on_both_sides_of_a_split(tmp_path: Path) -> None:
    """Whatever their labels, and also where another split is given."""
    rows = [{"text": f"film {i % 50}", "label": ("neg", "pos")[i % 7 > 3]} for i in range(300)]
    for marked in (rows, [row | {"split": ("test", "train")[i > 40]} for i, row in enumerate(rows)]):
        corpus = corpus_from_files(written(tmp_path / "a.jsonl", marked))
        held = {name: {" ".join(t) for t in split.table["tokens"].to_pylist()} for name, split in corpus.splits.items()}
        assert not held["dev"] & (held["train"] | held["test"])
        if marked is rows:
            assert not held["train"] & held["test"]
            assert not any("also in train" in line for line in corpus.provenance.left_out)


def test_a_split_column_is_honoured_in_its_usual_spellings(tmp_path: Path) -> None:
    names = ["train", "Training", " dev", "valid", "validation", "VAL", "test", "train"]
    rows = [row | {"split": names[i // 2 % 8]} for i, row in enumerate(ROWS[:16])]
    corpus = corpus_from_files(written(tmp_path / "films.csv", rows))
    assert {name: len(split) for name, split in corpus.splits.items()} == {"train": 6, "dev": 8, "test": 2}
    assert corpus["test"].ids == ["films-13", "films-14"]
    assert "cut" not in corpus.provenance.preparation


@pytest.mark.parametrize(
    ("names", "sizes"),
    [
        (("train", "test"), {"train": None, "dev": None, "test": 20}),
        (("train", "dev"), {"train": None, "dev": 20, "test": None}),
        (("train", "train"), {"train": None, "dev": None, "test": None}),
    ],
)
def test_a_split_the_column_lacks_is_cut_from_training(
    tmp_path: Path, names: tuple[str, str], sizes: dict[str, int | None]
) -> None:
    rows = [row | {"split": names[i % 4 // 2]} for i, row in enumerate(ROWS)]
    corpus = corpus_from_files(written(tmp_path / "films.csv", rows))
    found = {name: len(split) for name, split in corpus.splits.items()}
    assert sum(found.values()) == 40
    assert all(found[name] == size or (size is None and found[name] >= 2) for name, size in sizes.items())


def test_a_second_file_is_the_test_split(tmp_path: Path) -> None:
    path, test = written(tmp_path / "a.csv", ROWS), written(tmp_path / "b.jsonl", [*ROWS[:6], {"text": ""}])
    corpus = corpus_from_files(path, test=test)
    assert corpus["test"].ids == [f"b-{i}" for i in range(1, 7)]
    assert len(corpus["train"]) + len(corpus["dev"]) == 40
    assert corpus.provenance.left_out[0] == "b.jsonl: 1 row left out: empty text (row 7)"
    assert corpus.provenance.left_out[1] == "6 texts of test also in train or dev"


def test_ids_that_two_files_share_are_told_apart(tmp_path: Path) -> None:
    rows = [row | {"id": i} for i, row in enumerate(ROWS)]
    path, test = written(tmp_path / "a.csv", rows), written(tmp_path / "b.csv", rows[:6])
    corpus = corpus_from_files(path, test=test)
    assert corpus["test"].ids == [f"test-{i}" for i in range(6)]


def test_a_second_column_makes_pairs(tmp_path: Path) -> None:
    rows = [row | {"question": f"Is film {i} good ?"} for i, row in enumerate(ROWS)]
    corpus = corpus_from_files(written(tmp_path / "a.csv", rows), second_column="question")
    assert corpus.task == "pair"
    assert corpus["test"].table["second"][0].as_py()[::4] == ["is", "?"]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_rationales_are_carried_for_whitespace_tokens(tmp_path: Path, suffix: str) -> None:
    rows = [row | {"rationale": [0, 0, 1, 1]} for row in ROWS]
    path = written(tmp_path / f"a.{suffix}", rows)
    corpus = corpus_from_files(path, tokenizer="whitespace")
    assert corpus.provenance.rationale == "human"
    assert corpus["dev"].table["rationale"].to_pylist() == [[False, False, True, True]] * len(corpus["dev"])
    assert not corpus_from_files(path)["dev"].has("rationale")


@pytest.mark.parametrize("values", [[0, 1], ["0.0", "1.0"], [True, False], ["b", "a"], [-1, 10]])
def test_labels_may_be_words_or_numbers(tmp_path: Path, values: list[object]) -> None:
    rows = [{"text": row["text"], "label": values[i % 2]} for i, row in enumerate(ROWS)]
    corpus = corpus_from_files(written(tmp_path / "a.jsonl", rows))
    assert sum((Counter(split.labels.tolist()) for split in corpus.splits.values()), Counter()) == {0: 20, 1: 20}
    assert corpus.classes in (("0", "1"), ("False", "True"), ("a", "b"), ("-1", "10"))


def test_one_token_texts_stay_and_options_are_passed_on(tmp_path: Path) -> None:
    rows = [{"text": word, "label": label} for word, label in zip("ABCDEFGHIJKLMN", "xy" * 7, strict=True)]
    corpus = corpus_from_files(written(tmp_path / "a.csv", rows), lowercase=False, min_frequency=2)
    kept = [text for split in corpus.splits.values() for text in split.table["tokens"].to_pylist()]
    assert sorted(kept) == [[word] for word in "ABCDEFGHIJKLMN"]
    assert corpus.min_frequency == 2


texts = st.text(st.characters(blacklist_characters="\0\r", blacklist_categories=["Cs"]), max_size=30)


@pytest.mark.slow
@settings(deadline=None)
@given(st.lists(texts, min_size=1, max_size=8), st.sampled_from(["csv", "tsv", "jsonl", "parquet"]))
def test_odd_text_is_kept_or_counted(tmp_path_factory: pytest.TempPathFactory, odd: list[str], suffix: str) -> None:
    rows: list[dict[str, object]] = [{"text": text, "label": "pos"} for text in odd]
    path = written(tmp_path_factory.mktemp("odd") / f"a.{suffix}", [*ROWS, *ROWS, *(rows * 3)])
    corpus = corpus_from_files(path, tokenizer="whitespace", lowercase=False)
    kept = [row for rows in content(corpus).values() for row in rows]
    words = {" ".join(text.split()) for text in odd if text.strip()}
    assert {" ".join(row["tokens"]) for row in kept if int(str(row["id"])[2:]) > 80} == words
    blank = sum(not text.strip() for text in odd) * 3
    assert len(kept) + blank == 80 + 3 * len(odd)
    assert any("left out" in line for line in corpus.provenance.left_out) == bool(blank)


def lines_of(rows: list[dict[str, object]]) -> str:
    return "\n".join(json.dumps(row) for row in rows)


BAD: dict[str, tuple[list[dict[str, object]], dict[str, object], str]] = {
    "named column": (
        ROWS,
        {"text_column": "review"},
        r"no column 'review' \(text_column, --text-column\). It has: text, label",
    ),
    "no label": ([{"text": "a"}] * 9, {}, "holds the label"),
    "one class": ([row | {"label": "pos"} for row in ROWS], {}, "one class only: every label in column 'label'"),
    "small class": ([*ROWS, {"text": "a", "label": "rare"}], {}, "Class 'rare' has 1 different text, .* at least 3"),
    "continuous": ([row | {"label": i / 7} for i, row in enumerate(ROWS)], {}, "look continuous"),
    "many": (
        [row | {"label": f"c{i}"} for i, row in enumerate(ROWS * 3)],
        {},
        "120 classes .* fewer than 3 of the 120 texts each",
    ),
    "no text": ([row | {"text": " "} for row in ROWS], {}, "No row of a.jsonl can be used: 40 rows left out"),
    "too long": (ROWS, {"max_tokens": 2}, "No row of a.jsonl can be used: .* more than --max-tokens 2"),
    "split": ([row | {"split": "half"} for row in ROWS], {}, "row 1: 'half' in column 'split' is no split"),
    "no split": ([row | {"split": None} for row in ROWS], {}, "row 1: '' in column 'split' is no split"),
    "no train": ([row | {"split": "test"} for row in ROWS], {}, "marks no usable row as train"),
    "unseen": (
        [row | {"split": "train", "label": i % 2} for i, row in enumerate(ROWS)]
        + [{"text": "a", "label": 2, "split": "test"}],
        {},
        "the test split has labels that training lacks: '2' \\(training has '0', '1'\\)",
    ),
    "same id": ([row | {"id": 1} for row in ROWS], {}, "rows 1 and 2 have the same id '1'"),
    "list": ([row | {"text": ["a"]} for row in ROWS], {}, "row 1: column 'text' holds a list"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_clear_line(tmp_path: Path, what: str) -> None:
    rows, options, message = BAD[what]
    (tmp_path / "a.jsonl").write_text(lines_of(rows))
    with pytest.raises(InputError, match=message) as raised:
        corpus_from_files(tmp_path / "a.jsonl", **options)
    assert "\n" not in str(raised.value)


def test_an_unknown_tokenizer_is_named_before_the_file_is_read() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'whitespace'"):
        corpus_from_files("nowhere.csv", tokenizer="white-space")


def test_labels_of_a_second_file_that_training_lacks_are_named(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", ROWS)
    test = written(tmp_path / "b.csv", [row | {"label": "new"} for row in ROWS])
    with pytest.raises(InputError, match="test split has labels that training lacks: 'new'"):
        corpus_from_files(path, test=test)


def test_a_second_file_without_the_columns_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", ROWS)
    test = written(tmp_path / "b.csv", [{"review": "a", "label": "pos"}])
    with pytest.raises(InputError, match=r"b.csv has no column 'text'"):
        corpus_from_files(path, test=test)


def test_two_test_splits_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", [row | {"split": ("train", "test")[i % 2]} for i, row in enumerate(ROWS)])
    with pytest.raises(InputError, match=r"a.csv marks 20 rows as test, and .*b.csv was given"):
        corpus_from_files(path, test=written(tmp_path / "b.csv", ROWS))


def test_a_class_that_only_dev_lacks_is_no_error(tmp_path: Path) -> None:
    rows = [row | {"split": "train"} for row in ROWS] + [
        {"text": "fine", "label": "pos", "split": name} for name in ("dev", "test")
    ]
    corpus = corpus_from_files(written(tmp_path / "a.csv", rows))
    assert np.array_equal(corpus["dev"].labels, [1])


def test_a_trained_model_s_classes_keep_their_order_and_need_not_all_occur(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", [row for row in ROWS if row["label"] == "pos"])
    corpus = corpus_from_files(path, classes=("pos", "neutral", "neg"))
    assert corpus.classes == ("pos", "neutral", "neg")
    assert set(corpus["test"].labels.tolist()) == {0}
    assert len(corpus["train"]) == len(corpus["dev"]) == 0


def test_a_label_that_a_trained_model_lacks_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"labels that the model lacks: 'neg' \(the model has 'bad', 'pos'\)"):
        corpus_from_files(written(tmp_path / "a.csv", ROWS), classes=("bad", "pos"))


@settings(deadline=None)
@given(st.binary(max_size=200), st.sampled_from(FORMATS))
def test_any_bytes_are_a_corpus_or_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes, suffix: str
) -> None:
    path = tmp_path_factory.mktemp("raw") / f"a.{suffix}"
    path.write_bytes(b"text,label\n" + raw if suffix == "csv" else raw)
    with contextlib.suppress(InputError):
        assert len(corpus_from_files(path)["train"])

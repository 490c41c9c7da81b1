from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pytest

from attentest.data.corpora.sst import SST, clean
from attentest.data.corpus import Corpus
from attentest.errors import InputError


def row_of(text: str, labels: list[int], label: int | None = 1, name: str = "x") -> dict[str, object]:
    return {"id": name, "tokens": text.split(), "token_labels": labels, "label": label}


def test_brackets_case_and_non_word_characters_go_and_flags_follow_their_parts() -> None:
    row = row_of("-LRB- Co-writer\\/Director 's `` Clichéd -RRB- mess , !", [2, 3, 1, 2, 0, 2, 1, 4, 2])
    sentence = clean(row)
    assert sentence.tokens == ["co", "writer", "director", "s", "clichéd", "mess"]
    assert sentence.rationale == [True, True, True, True, True, True]
    assert clean(row_of("a good film", [2, 3, 2])).rationale == [False, True, False]


@pytest.fixture
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "sst").mkdir()
    lengths_and_labels = [(5, 1), (6, 0), (7, 1), (9, None), (8, 0)]
    for split in ("train", "dev", "test"):
        rows = [
            row_of("w " * length, [2] * length, label, f"{split}-{i}")
            for i, (length, label) in enumerate(lengths_and_labels)
        ]
        text = "\n".join(json.dumps(row) for row in rows)
        (tmp_path / "sst" / f"{split}.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path))
    return tmp_path


def test_neutral_short_and_longest_sentences_are_left_out_and_counted(small: Path) -> None:
    corpus = SST().load()
    assert sorted(corpus["dev"].ids) == ["dev-1", "dev-2"]
    assert corpus.provenance.left_out[:3] == (
        "train: 1 sentence left out: neutral",
        "train: 1 sentence left out: 5 tokens or fewer",
        "train: 1 sentence left out: 8 tokens, the longest",
    )


def test_the_limits_are_options(small: Path) -> None:
    corpus = SST(more_than=4, drop_longest=False).load()
    assert sorted(corpus["test"].ids) == ["test-0", "test-1", "test-2", "test-4"]
    assert len(corpus.provenance.left_out) == 3


def test_a_corpus_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path))
    with pytest.raises(InputError, match="Corpus 'sst' is not on this machine"):
        SST().load()


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    if "ATTENTEST_DATA" not in os.environ:
        pytest.skip("ATTENTEST_DATA is not set: no real corpora here")
    return SST().load()


@pytest.mark.corpora
def test_the_sizes_are_those_jain_and_wallace_print(corpus: Corpus) -> None:
    counts = {name: Counter(split.labels.tolist()) for name, split in corpus.splits.items()}
    assert counts == {"train": {0: 3034, 1: 3321}, "dev": {0: 397, 1: 424}, "test": {0: 863, 1: 862}}


@pytest.mark.corpora
def test_sentences_are_longer_than_five_and_shorter_than_the_longest(corpus: Corpus) -> None:
    assert all(split.lengths.min() == 6 for split in corpus.splits.values())
    assert all(corpus[name].lengths.max() < most for name, most in (("train", 48), ("dev", 44), ("test", 52)))


@pytest.mark.corpora
def test_every_token_has_a_flag_and_no_prefix_is_of_one_class(corpus: Corpus) -> None:
    for split in corpus.splits.values():
        flags = split.table["rationale"].to_pylist()
        assert [len(row) for row in flags] == split.lengths.tolist()
        assert 0.1 < sum(map(sum, flags)) / split.lengths.sum() < 0.25
        assert 0.4 < split.labels[:200].mean() < 0.65

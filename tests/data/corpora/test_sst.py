from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from attentest.data.corpora.sst import SST, SST5
from attentest.data.corpora.treebank import clean, read_trees, row_of_tree
from attentest.data.corpus import Corpus
from attentest.errors import InputError


def row_of(text: str, labels: list[int], label: int | None = 1, name: str = "x") -> dict[str, Any]:
    words = text.split()
    return {
        "id": name,
        "text": text,
        "tokens": words,
        "token_labels": labels,
        "label": label,
        "label5": {None: 2, 0: 1, 1: 4}[label],
        "spans": [[0, len(words), 2]],
    }


def test_brackets_case_and_non_word_characters_go_and_flags_follow_their_parts() -> None:
    row = row_of("-LRB- Co-writer\\/Director 's `` Clichéd -RRB- mess , !", [2, 3, 1, 2, 0, 2, 1, 4, 2])
    sentence = clean(row)
    assert sentence.tokens == ["co", "writer", "director", "s", "clichéd", "mess"]
    assert sentence.rationale == [True, True, True, True, True, True]
    assert clean(row_of("a good film", [2, 3, 2])).rationale == [False, True, False]


def test_the_smallest_phrases_with_a_sentiment_can_be_marked_too() -> None:
    row = row_of("could have been so good", [2, 2, 2, 2, 3])
    row["spans"] = [[0, 2, 1], [3, 5, 3], [2, 5, 3], [0, 5, 1]]
    assert clean(row, marks="phrases").rationale == [True, True, False, False, True]
    assert clean(row).rationale == [False, False, False, False, True]
    with pytest.raises(InputError, match="marks='words' must be one of tokens, negative, positive, phrases"):
        SST(marks="words")


def test_words_of_one_sentiment_can_be_marked_alone() -> None:
    row = row_of("a good film and a dull one", [2, 3, 2, 2, 2, 1, 2])
    assert clean(row, marks="positive").rationale == [False, True, False, False, False, False, False]
    assert clean(row, marks="negative").rationale == [False, False, False, False, False, True, False]


# ── the official form ──


def test_a_tree_gives_tokens_labels_and_a_span_for_every_phrase() -> None:
    row = row_of_tree("(3 (2 (2 An) (3 8\u00a01\\/2)) (4 (2 -LRB-) (3 (4 delight) (2 -RRB-))))", "x")
    assert row["tokens"] == ["An", "8\u00a01\\/2", "-LRB-", "delight", "-RRB-"]
    assert row["text"] == "An 8\u00a01/2 ( delight )"
    assert row["token_labels"] == [2, 3, 2, 4, 2]
    assert row["spans"] == [[0, 2, 2], [3, 5, 3], [2, 5, 4], [0, 5, 3]]
    assert (row["label5"], row["label"]) == (3, 1)
    assert [row_of_tree(f"({i} word)", "x")["label"] for i in range(5)] == [0, 0, None, 1, 1]


@pytest.mark.parametrize("tree", ["", "(3 a", "(3 a))", "(7 a)", "word", "(3 (2 ))", "(3 a) (2 b)", "(3 a) b"])
def test_what_is_no_tree_is_named_with_file_and_line(tmp_path: Path, tree: str) -> None:
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.txt").write_text(f"(3 fine)\n\n{tree or '()'}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"train.txt, line 3 is no tree such as"):
        list(read_trees(tmp_path)["train"])


def test_a_folder_without_the_trees_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file train.txt"):
        SST().read_official(tmp_path)


# ── preparation ──


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
    monkeypatch.setenv("ATTENTEST_CACHE", str(tmp_path / "cache"))
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


def test_with_five_classes_every_sentence_is_kept(small: Path) -> None:
    corpus = SST5().load()
    assert len(corpus["train"]) == 5
    assert corpus.classes[2] == "neutral"
    assert sorted(corpus["train"].labels.tolist()) == [1, 1, 2, 4, 4]


def test_a_corpus_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path))
    with pytest.raises(InputError, match="Corpus 'sst' is not on this machine"):
        SST().load()


# ── the real one ──


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    if "ATTENTEST_DATA" not in os.environ:
        pytest.skip("ATTENTEST_DATA is not set: no real corpora here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTENTEST_CACHE", str(tmp_path_factory.mktemp("cache")))
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


@pytest.mark.corpora
def test_every_row_is_what_its_tree_gives(corpus: Corpus) -> None:
    """The trees rebuilt from the spans and read again: brackets, escapes and no-break spaces survive."""
    path = Path(os.environ["ATTENTEST_DATA"]) / "sst" / "train.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            assert row_of_tree(_tree(row, 0, len(row["tokens"])), row["id"]) == row


def _tree(row: dict[str, Any], start: int, end: int) -> str:
    labels = {(a, b): label for a, b, label in row["spans"]}
    if end - start == 1:
        return f"({row['token_labels'][start]} {row['tokens'][start]})"
    middle = next(
        m
        for m in range(start + 1, end)
        if (m - start == 1 or (start, m) in labels) and (end - m == 1 or (m, end) in labels)
    )
    return f"({labels[start, end]} {_tree(row, start, middle)} {_tree(row, middle, end)})"


def test_punctuation_can_be_kept_to_cut_sentences_by() -> None:
    row = row_of("It 's Fun , -LRB- really -RRB- .", [2, 2, 3, 2, 2, 2, 2, 2])
    assert clean(row, punctuation=True).tokens == ["it", "'s", "fun", ",", "really", "."]
    assert clean(row, punctuation=True).rationale == [False, False, True, False, False, False]

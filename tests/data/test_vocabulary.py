from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.data.corpus import Split
from attentest.data.vocabulary import END, PAD, SPECIAL, START, UNKNOWN, Vocabulary

words = st.sampled_from(["a", "b", "c", "é", "<unk>", "film", "."])
texts = st.lists(st.lists(words, max_size=6), max_size=8)


def split_of(lists: list[list[str]], second: list[list[str]] | None = None) -> Split:
    return Split.of([str(i) for i in range(len(lists))], lists, [0] * len(lists), second=second)


@settings(deadline=None)
@given(texts, st.integers(1, 4))
def test_a_word_must_occur_in_enough_texts(lists: list[list[str]], least: int) -> None:
    documents = Counter(word for tokens in lists for word in set(tokens) if word not in SPECIAL)
    expected = sorted(word for word, count in documents.items() if count >= least)
    assert Vocabulary.from_split(split_of(lists), least).words == (*SPECIAL, *expected)


def test_repeating_a_word_in_one_text_counts_once() -> None:
    split = split_of([["a", "a", "a"], ["b"], ["b"]])
    assert Vocabulary.from_split(split, 2).words == (*SPECIAL, "b")


def test_second_texts_count_too() -> None:
    split = split_of([["a"], ["b"]], second=[["c", "b"], ["c"]])
    assert Vocabulary.from_split(split, 2).words == (*SPECIAL, "b", "c")


def test_the_special_words_come_first() -> None:
    vocabulary = Vocabulary.from_split(split_of([["<pad>", "a"]]))
    assert [vocabulary.words[i] for i in (PAD, UNKNOWN, START, END)] == list(SPECIAL)
    assert len(vocabulary) == 5


@pytest.mark.slow
@settings(deadline=None)
@given(texts, texts)
def test_encoding_is_a_lookup_per_token(seen: list[list[str]], lists: list[list[str]]) -> None:
    vocabulary = Vocabulary.from_split(split_of(seen))
    values, offsets = vocabulary.encode(split_of(lists).table["tokens"])
    assert len(offsets) == len(lists) + 1
    for i, tokens in enumerate(lists):
        expected = [vocabulary.index.get(token, UNKNOWN) for token in tokens]
        assert values[offsets[i] : offsets[i + 1]].tolist() == expected


@pytest.mark.slow
@settings(deadline=None)
@given(texts)
def test_known_words_survive_a_round_trip(lists: list[list[str]]) -> None:
    split = split_of(lists)
    vocabulary = Vocabulary.from_split(split)
    values, _ = vocabulary.encode(split.table["tokens"])
    assert vocabulary.decode(values.tolist()) == [token for tokens in lists for token in tokens]


@pytest.mark.slow
@settings(deadline=None)
@given(texts, st.integers(0, 8), st.integers(0, 8))
def test_slices_and_chunks_are_encoded_like_their_rows(lists: list[list[str]], start: int, length: int) -> None:
    table = split_of(lists).table
    vocabulary = Vocabulary.from_split(split_of(lists))
    part = table.slice(start, length)
    chunked = pa.concat_tables([part, table])
    values, offsets = vocabulary.encode(chunked["tokens"])
    expected = lists[start : start + length] + lists
    assert [vocabulary.decode(values[a:b].tolist()) for a, b in pairwise(offsets)] == expected
    fresh = split_of(lists[start : start + length])
    assert Vocabulary.from_split(Split(part)).words == Vocabulary.from_split(fresh).words


@pytest.mark.parametrize("lists", [[], [[]], [[], []]])
def test_no_texts_or_no_tokens_are_a_vocabulary_of_special_words(lists: list[list[str]]) -> None:
    vocabulary = Vocabulary.from_split(split_of(lists))
    assert vocabulary.words == SPECIAL
    values, offsets = vocabulary.encode(split_of(lists).table["tokens"])
    assert len(values) == 0
    assert offsets.tolist() == [0] * (len(lists) + 1)

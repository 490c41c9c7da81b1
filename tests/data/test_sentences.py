from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import made_up_corpus, made_up_split
from tests.data.made_up_corpus import Toy
from tests.support.hierarchy import texts

from attentest.data.catalog.prepared import load_prepared, pack
from attentest.data.corpora import CORPORA
from attentest.data.corpora.declared import Instance, Prepared, Rows
from attentest.data.corpus import Corpus, Provenance, Split
from attentest.data.sentences import kept_sentences, labels_of, sentence_lengths, split_with_sentences, with_sentences
from attentest.errors import InputError

#: Texts, with | where a sentence ends.
REAL = [
    "it was great . | i loved it !",
    "what ? ! | really ? | yes .",
    "He met Mr. Smith . | It was late .",
    "mr . bip and dr . who left . | they were tired .",
    "j . k . rowling wrote it . | so do i . | ok",
    "written by j.r.r. tolkien . | it rates 7.5 or 7 . 5 stars .",
    "The U.S. is big . | He left the U.S. | She stayed .",
    'she said " go . " | then she left .',
    'one . | " two . " | three',
    "it works ( sort of . ) | right ?",
    "so boring ..... | avoid it",
    "It was ... fine . | But slow … | Then it ended .",
    'great. | bad! | "no." | I see etc. and so on',
    "they sell food , toys , etc. | The End",
    "... and then nothing happened .",
    "wow ! ! ! | a must see ...",
    "no mark at all",
    "it cost 5. | cheap",
    "« merci . » | il est parti .",
]


def cut(text: str) -> str:
    tokens = text.replace("|", " ").split()
    (sizes,) = sentence_lengths(pa.array([tokens]))[0].to_pylist()
    ends = np.cumsum([0, *sizes])
    return " | ".join(" ".join(tokens[a:b]) for a, b in itertools.pairwise(ends))


@pytest.mark.parametrize("text", REAL)
def test_real_texts_are_cut_where_a_reader_would(text):
    assert cut(text) == text


TOKENS = st.sampled_from(
    [".", "!", "?", "...", "…", '"', "'", ")", "(", "mr", "mr.", "a", "I", "7", "7.", "Word", "word", "etc."]
)


@given(st.lists(st.lists(TOKENS, min_size=1, max_size=12), min_size=1, max_size=6))
def test_sentences_cover_their_text_and_none_is_empty_or_without_a_word_that_it_could_have(texts):
    lengths, _ = sentence_lengths(pa.array(texts))
    for tokens, sizes in zip(texts, lengths.to_pylist(), strict=True):
        assert sum(sizes) == len(tokens)
        assert min(sizes) >= 1
        if any(any(map(str.isalnum, token)) for token in tokens):
            ends = np.cumsum([0, *sizes])
            for a, b in itertools.pairwise(ends):
                assert any(any(map(str.isalnum, token)) for token in tokens[a:b])


@pytest.mark.slow
@given(st.lists(st.lists(TOKENS, min_size=1, max_size=12), min_size=1, max_size=6))
def test_a_text_is_cut_the_same_whatever_stands_beside_it(texts):
    together = sentence_lengths(pa.array(texts))[0].to_pylist()
    assert together == [sentence_lengths(pa.array([text]))[0].to_pylist()[0] for text in texts]


def test_a_corpus_gets_its_sentences_once_and_another_digest():
    tokens = ["it", "was", "good", ".", "very", "good", "!"]
    corpus = Corpus("mine", ("a", "b"), {"train": Split.of(["1"], [tokens], [0])}, Provenance("", ""))
    made = with_sentences(corpus)
    assert made["train"].table["sentences"].to_pylist() == [[4, 3]]
    assert made.digest != corpus.digest
    assert with_sentences(corpus).digest == made.digest
    assert with_sentences(made) is made


def test_tokens_without_any_mark_are_refused_in_one_line():
    with pytest.raises(InputError, match=r"hold no mark that ends a sentence.*structure 'flat'") as caught:
        with_sentences(made_up_corpus())
    assert "\n" not in str(caught.value)


def test_the_built_in_reviews_have_sentences():
    corpus = with_sentences(CORPORA.parse("reviews").load())
    lengths = corpus["train"].table["sentences"].to_pylist()
    assert np.mean([len(sizes) for sizes in lengths]) > 1


def test_a_split_of_several_chunks_keeps_them():
    one = made_up_split(5)
    table = pa.concat_tables([one.table, made_up_split(4, seed=1).table])
    split, found = split_with_sentences(Split(table))
    assert not found
    assert split.table["sentences"].num_chunks == 2
    labels = labels_of(split)
    assert labels is not None
    assert len(labels) == split.lengths.sum()


def test_labels_count_the_sentences_of_each_text_and_rows_can_be_taken():
    split = texts()
    assert labels_of(made_up_split()) is None
    labels, start = labels_of(split), 0
    assert labels is not None
    for sizes in split.table["sentences"].to_pylist():
        assert labels[start : start + sum(sizes)].tolist() == np.repeat(np.arange(len(sizes)), sizes).tolist()
        start += sum(sizes)
    taken = split.take([4, 2])
    assert taken.table["sentences"].to_pylist() == [split.table["sentences"].to_pylist()[row] for row in (4, 2)]


def test_sentences_that_do_not_add_up_are_refused():
    with pytest.raises(InputError, match="do not add up"):
        labels_of(Split.of(["1"], [["a", "b"]], [0], sentences=[[1]]))


@given(st.integers(0, 2**32 - 1))
def test_what_is_left_of_a_text_has_what_is_left_of_its_sentences(seed):
    split = texts()
    kept = np.random.default_rng(seed).random(split.lengths.sum()) < 0.4
    labels, texts_ = labels_of(split), np.repeat(np.arange(len(split)), split.lengths)
    found = kept_sentences(split, kept).to_pylist()
    for row, sizes in enumerate(found):
        here = labels[(texts_ == row) & kept]
        assert sizes == [int((here == label).sum()) for label in np.unique(here)]


class _Cut(Toy):
    """The toy with sentences of two tokens."""

    name: ClassVar[str] = "toy"

    def prepare(self, rows: Rows) -> Prepared:
        made = super().prepare(rows)
        return dataclasses.replace(made, splits={name: map(_in_twos, one) for name, one in made.splits.items()})


def _in_twos(instance: Instance) -> Instance:
    length = len(instance.tokens)
    return instance._replace(sentences=[2] * (length // 2) + [1] * (length % 2))


def test_sentences_that_a_corpus_knows_are_prepared_packed_and_kept(toy: Path, tmp_path: Path, monkeypatch) -> None:
    corpus = load_prepared(_Cut())
    lengths = corpus["train"].table["sentences"].to_pylist()
    assert [sum(sizes) for sizes in lengths] == corpus["train"].lengths.tolist()
    assert with_sentences(corpus) is corpus
    assert corpus.digest != load_prepared(Toy(upper=True)).digest
    pack([_Cut()], tmp_path / "pack")
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path / "pack"))
    assert load_prepared(_Cut())["train"].table["sentences"].to_pylist() == lengths


def test_prepared_sentences_must_be_the_texts_own(toy: Path, monkeypatch) -> None:
    monkeypatch.setattr(f"{__name__}._in_twos", lambda instance: instance._replace(sentences=[1]))
    with pytest.raises(InputError, match="has sentences of 1 tokens, which are not its 3"):
        load_prepared(_Cut())

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.data.corpora.made_up import from_official, prepared, real
from tests.data.corpora.test_multi30k import official

from attentest.data.corpora.multi30k import Multi30k, Multi30kAligned
from attentest.data.corpora.news_commentary import NewsCommentary
from attentest.data.corpora.wmt_ende import WMTEnDeSample
from attentest.data.subwords import BEGINS, Subwords, in_subwords, joined
from attentest.errors import InputError

TEXTS = [
    ["a", "young", "man", "sits", "near", "the", "yellow", "house"],
    ["ein", "junger", "Mann", "sitzt", "nahe", "dem", "gelben", "Haus"],
    ["young", "men", "and", "younger", "men", ",", "yellow", "and", "yellower"],
]
WORDS = st.lists(st.text(st.characters(exclude_characters=BEGINS, exclude_categories=("Cs",)), min_size=1), max_size=6)


@given(WORDS.map(lambda words: " ".join(words).split()))
@settings(max_examples=60)
def test_pieces_joined_are_the_text_whatever_its_characters(words: list[str]) -> None:
    subwords = Subwords.learnt(TEXTS, 60)
    assert joined(subwords.segment(words)) == " ".join(words)


def test_frequent_words_are_one_piece_and_the_rest_are_cut_the_same_way_every_time() -> None:
    subwords = Subwords.learnt(TEXTS * 3, 120)
    assert subwords.segment(["men", "yellow"]) == ["▁men", "▁yellow"]
    assert subwords.segment(["yellowest"])[0] == "▁yellow"
    assert subwords.segment(["menü"])[-1] == "ü"
    again = Subwords.learnt(iter(TEXTS * 3), 120)
    assert all(subwords.segment(text) == again.segment(text) for text in TEXTS)


def test_every_piece_belongs_to_one_word() -> None:
    subwords = Subwords.learnt(TEXTS, 40)
    words = ["younger", "man", "\u00a0"]
    spans, pieces = subwords.spans(words), subwords.segment(words)
    assert [joined(pieces[span.start : span.stop]) for span in spans] == words
    assert spans[-1].stop == len(pieces)
    assert subwords.spans([]) == []


def test_the_sign_of_a_beginning_in_a_text_becomes_an_underscore() -> None:
    assert joined(Subwords.learnt(TEXTS, 40).segment(["a▁b", "▁"])) == "a_b _"


def test_pieces_are_told_from_words() -> None:
    assert in_subwords(["<pad>", "a", "▁man"])
    assert not in_subwords(["<pad>", "man"])


def test_a_corpus_is_cut_by_what_its_training_pairs_taught(tmp_path: Path) -> None:
    corpus = Multi30k(tokenizer="whitespace", subwords=60)
    made, splits = from_official(corpus, official(tmp_path))
    assert made.min_frequency == 1
    assert "60 subwords" in made.preparation
    assert joined(splits["test"][0].target or ()) == "Ein Hunde-Schlitten."
    assert splits["train"][0].tokens[0].startswith(BEGINS)


def test_links_of_words_become_links_of_their_pieces() -> None:
    rows = [{"id": "1", "en": "a dogs", "de": "Hunde da", "align": "1-0 0-1"}]
    learnt = [{"id": "0", "en": "a dog a dog", "de": "Hund da Hund da", "align": ""}]
    _, splits = prepared(Multi30kAligned(subwords=24), {"train": learnt, "dev": rows, "test": []})
    (found,) = splits["dev"]
    assert found.tokens == ["▁a", "▁dog", "s"]
    assert found.target == ["▁Hund", "e", "▁da"]
    assert found.alignment == ["1-0", "1-1", "2-0", "2-1", "0-2"]


@pytest.mark.parametrize("corpus", [Multi30k, NewsCommentary, Multi30kAligned, WMTEnDeSample])
def test_fewer_than_no_subwords_are_refused(corpus: type) -> None:
    with pytest.raises(InputError, match=r"subwords=-1 must be 0 \(whole words\) or more"):
        corpus(subwords=-1)


def test_subwords_of_spacys_tokens_are_refused_because_the_text_would_be_lost() -> None:
    with pytest.raises(InputError, match="subwords=8000 needs tokenizer='whitespace', not 'spacy'"):
        Multi30k(subwords=8000)


@pytest.mark.corpora
def test_real_captions_come_back_exactly_and_hardly_a_piece_is_unknown() -> None:
    _, whole = real(Multi30k(tokenizer="whitespace"))
    _, cut = real(Multi30k(tokenizer="whitespace", subwords=8000))
    for split in ("train", "test"):
        for words, pieces in zip(whole[split], cut[split], strict=True):
            assert joined(pieces.tokens) == " ".join(words.tokens)
            assert joined(pieces.target or ()) == " ".join(words.target or ())
    seen = {piece for instance in cut["train"] for piece in instance.target or ()}
    test = [piece for instance in cut["test"] for piece in instance.target or ()]
    assert sum(piece not in seen for piece in test) < 0.001 * len(test)

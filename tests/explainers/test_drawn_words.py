"""Words drawn from the corpus: which, how often, and what a model says of the texts that they make."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from tests.conftest import classifier, made_up_split, whole
from tests.support.pretrained import tiny, tokenizer_of

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import END, Vocabulary
from attentest.explainers.drawn_words import Continuations
from attentest.explainers.erasure import DRAW, Known, erased
from attentest.measures.chance import uniforms
from attentest.models.huggingface.building import build_pretrained
from attentest.models.networks.classifier import Architecture
from attentest.models.parts.encoders import ENCODERS

TEXTS = [["a", "b", "c"], ["a", "b", "d"], ["a", "c"], ["d", "b"], ["a", "c", "b"]]


def encoded(texts: list[list[str]], vocabulary: Vocabulary | None = None) -> tuple[Encoded, Vocabulary]:
    split = Split.of([f"text {place}" for place in range(len(texts))], texts, [0] * len(texts))
    vocabulary = vocabulary or Vocabulary.from_split(split)
    return Encoded.of(split, vocabulary), vocabulary


def drawn(texts: list[list[str]], of: list[str], place: int, draws: int = 1000, fewest: int = 1) -> Counter[str]:
    """What is drawn at one place of a text, by the corpus of these texts."""
    every, vocabulary = encoded(texts)
    batch = encoded([of], vocabulary)[0].batch(np.array([0]))
    table = Continuations(*every.text, fewest)
    return Counter(vocabulary.words[int(table.drawn(batch, draw, 0)[0, place + 1])] for draw in range(draws))


def shares(counts: Counter[str]) -> dict[str, float]:
    return {word: count / counts.total() for word, count in counts.items()}


def test_words_are_drawn_as_often_as_they_follow_the_same_neighbour() -> None:
    assert shares(drawn(TEXTS, ["a", "d"], 1)) == pytest.approx({"b": 0.5, "c": 0.5}, abs=0.05)
    assert shares(drawn(TEXTS, ["b", "a"], 1)) == pytest.approx({"c": 0.5, "d": 0.5}, abs=0.05)
    assert drawn(TEXTS, ["a", "b"], 1, 50) == {"c": 50}, "never the word itself"


def test_where_no_other_word_follows_it_is_any_word_as_often_as_it_occurs() -> None:
    # after c comes b and nothing else
    assert shares(drawn(TEXTS, ["c", "b"], 1)) == pytest.approx({"a": 4 / 9, "c": 3 / 9, "d": 2 / 9}, abs=0.05)
    # a word that the corpus does not have follows any
    assert set(drawn([["a", "b"], ["c", "b"]], ["elsewhere", "elsewhere"], 1, 200)) == {"a", "b", "c"}


def test_after_a_neighbour_that_few_words_follow_any_word_is_drawn() -> None:
    assert set(drawn(TEXTS, ["a", "d"], 1, 100, fewest=4)) == {"b", "c"}
    assert set(drawn(TEXTS, ["a", "d"], 1, 100, fewest=5)) == {"a", "b", "c"}


def test_the_first_word_is_one_that_begins_a_text() -> None:
    assert set(drawn(TEXTS, ["b"], 0, 200)) == {"a", "d"}


def test_no_special_symbol_is_drawn_and_none_is_replaced() -> None:
    every, vocabulary = encoded([["a", "rare", "b"], ["b", "odd", "a"]], Vocabulary.from_split(made_of("a", "b")))
    batch, table = every.batch(np.arange(2)), Continuations(*every.text)
    for draw in range(40):
        filled = table.drawn(batch, draw, 0)
        assert bool((filled[batch.mask] > END).all())
        assert bool((filled == batch.text.tokens)[~batch.mask].all())
        assert bool((filled != batch.text.tokens)[batch.mask].all())
    assert vocabulary.words[-2:] == ("a", "b")


def made_of(*words: str) -> Split:
    return Split.of(["made"], [list(words)], [0])


def test_a_corpus_of_one_word_has_no_other() -> None:
    assert drawn([["a", "a"]], ["a"], 0, 5) == {"a": 5}
    every, _ = encoded([["a"], []])
    assert Continuations(*every.text).drawn(every.batch(np.array([1])), 0, 0).shape == (1, 2)


def test_draws_depend_on_the_text_and_not_on_its_batch() -> None:
    split = made_up_split(count=12)
    every = Encoded.of(split, Vocabulary.from_split(split))
    table, together = Continuations(*every.text), every.batch(np.arange(12))
    filled = [table.drawn(together, draw, 3) for draw in range(2)]
    assert bool((filled[0] != filled[1]).any())
    for row in range(12):
        alone = every.batch(np.array([row]))
        width = alone.text.tokens.shape[1]
        assert torch.equal(table.drawn(alone, 1, 3)[0], filled[1][row, :width])
    assert torch.equal(Continuations.of(together).drawn(together, 1, 3), filled[1])


@pytest.mark.parametrize("encoder", ["bilstm(hidden=8)", "convolution(filters=4)", "average(hidden=8)"])
def test_drawing_equals_a_loop_that_writes_the_other_words_and_reads_the_text(encoder: str) -> None:
    split = made_up_split()
    model, every = classifier(Architecture(ENCODERS.parse(encoder), embedding=10), split, 3)
    check(model, every)


def test_drawing_equals_a_loop_for_a_checkpoint_whose_words_have_several_pieces() -> None:
    split = made_up_split(count=5, low=2, high=6)
    vocabulary, tokenizer = Vocabulary.from_split(split), tokenizer_of()
    check(build_pretrained(tiny("bert", size=len(tokenizer)), tokenizer, vocabulary), Encoded.of(split, vocabulary))


@torch.no_grad()
def check(model, every: Encoded) -> None:
    batch = whole(every)
    keep = uniforms(batch.keys, 5, batch.mask.shape[1], 0, mask=batch.mask) < 0.6
    for draw in range(2):
        filled = Continuations(*every.text).drawn(batch, draw, 0)
        ours = erased(model, batch, model.read(batch), keep, DRAW, Known(), filled)
        for row in range(len(batch)):
            one = batch[row : row + 1].narrowed(int(batch.text.lengths[row]))
            width = one.text.tokens.shape[1]
            for k in range(keep.shape[1]):
                stay = keep[row, k, :width] | ~one.mask[0]
                tokens = torch.where(stay, one.text.tokens[0], filled[row, :width])[None]
                text = type(one.text)(tokens, one.text.lengths, one.mask, one.text.sentences)
                alone = model.read(one.with_text(text)).logits[0].double()
                assert torch.allclose(ours[row, k], alone, atol=1e-5)

"""Importance: Shapley values against their definition, and what attention's top words hold of them."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
import torch

from attentest.calibration.hand_built import Mechanism, built
from attentest.calibration.mechanisms import At, Gathered, Leaked, OnDeciding, OnOthers, Own
from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.challenges.importance.examine import Importance
from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.data.worlds.simple import AnyOf, Keyword, Majority
from attentest.errors import InputError
from attentest.explainers.drawn_words import Continuations

ALL = Importance(erasures=("delete", "mask", "draw"))
ORDERS = 120
SMALL = {"train": 100, "dev": 10, "test": 30}


def examination(mechanism=None, world=None, texts=12, total=None, **about):
    world = world or Majority(**SMALL)
    corpus = world.load()
    vocabulary = Vocabulary.from_split(corpus["train"])
    subject = built(mechanism or Mechanism(Own(), OnDeciding()), world, vocabulary, **about)
    encoded = Encoded.of(corpus["test"], vocabulary)
    batch = encoded.batch(np.arange(texts))
    tokens = corpus["test"].table["tokens"].chunk(0).slice(0, texts)
    continuations = Continuations(*encoded.text)
    return Examination(subject, batch, subject.read(batch), 0, tokens, texts=total, continuations=continuations)


def mean(table, column="held", erasure="delete"):
    frame = table.to_pandas()
    return frame[frame["erasure"] == erasure][column].mean()


def literal(asked, mode):
    """Shapley values of the first text's words, over all orders, one text at a time."""
    subject, batch = asked.subject, asked.batch[:1]
    places = batch.mask[0].nonzero()[:, 0].tolist()
    target = int(asked.reading.predicted[0])

    @cache
    def worth(kept, draw=0):
        ids = batch.text.tokens[0].clone()
        if mode == "draw":
            ids = torch.where(torch.tensor([place in kept for place in range(len(ids))]), ids, asked.filled(draw)[0])
            kept = places
        unknown = 1
        if mode == "mask" or not kept:
            ids[[place for place in places if place not in kept]] = unknown
            mask = batch.mask
        else:
            chosen = [0, *sorted(kept), int(batch.text.lengths[0]) - 1]
            ids, mask = ids[chosen], batch.mask[:, chosen]
        text = type(batch.text)(ids[None], torch.tensor([len(ids)]), mask)
        logits = subject.read(batch.with_text(text)).logits[0].double()
        others = logits[torch.arange(len(logits)) != target].logsumexp(0)
        return float(logits[target] - others)

    values = dict.fromkeys(places, 0.0)
    orders = list(permutations(places))
    draws = range(ORDERS if mode == "draw" else 1)
    for order, draw in product(orders, draws):
        before = worth(frozenset(), draw)
        for place in order:
            after = worth(frozenset(order[: order.index(place) + 1]), draw)
            values[place] += (after - before) / len(orders) / len(draws)
            before = after
    return np.array([values[place] for place in places])


@pytest.mark.parametrize("mode", ["delete", "mask", "draw"])
def test_many_orders_come_to_shapley_s_values(mode):
    asked = examination(world=Keyword(**SMALL, length=4), texts=1, mechanism=Mechanism(Own(), OnDeciding(sharp=1.0)))
    true = literal(asked, mode)
    values = Importance(orders=ORDERS).values(asked, mode)
    assert values[0][asked.mask[0]].numpy() == pytest.approx(true, abs=0.2)


@pytest.mark.parametrize("world", [Majority(**SMALL), AnyOf(**SMALL), Majority(**SMALL, votes=5, length=60)], ids=str)
def test_attention_on_what_decides_holds_it_and_attention_elsewhere_does_not(world):
    on = ALL.examine(examination(Mechanism(Own(), OnDeciding()), world))
    off = ALL.examine(examination(Mechanism(Own(), OnOthers()), world))
    aggregator = ALL.examine(examination(Mechanism(Gathered("last"), At("last")), world))
    for erasure in ("delete", "mask", "draw"):
        # A place may be filled with a word that decides, so words of no importance to the model keep others out.
        assert mean(on, erasure=erasure) > (0.6 if erasure == "draw" else 0.8)
        assert mean(off, erasure=erasure) < 0.15
        assert mean(aggregator, erasure=erasure) < 0.15
    assert mean(on, "sampled", "mask") > 0.8


def test_single_words_do_little_where_others_say_the_same():
    redundant = Importance().examine(examination(world=AnyOf(**SMALL), bend=lambda said: torch.tanh(8 * said)))
    assert mean(redundant, "alone") < 0.5
    assert mean(redundant) > 0.8


def test_temperature_changes_nothing():
    cool, hot = (Importance().examine(examination(scale=scale)) for scale in (0.3, 30.0))
    assert mean(cool) == pytest.approx(mean(hot), abs=1e-6)


def test_a_text_s_value_does_not_depend_on_its_batch():
    asked = Importance(erasures=("mask", "draw"))
    whole = asked.examine(examination(texts=12)).to_pandas()
    alone = asked.examine(examination(texts=5)).to_pandas()
    for mode, column in product(asked.erasures, ("held", "one", "alone")):
        found = [frame[frame["erasure"] == mode][column].to_numpy()[:5] for frame in (whole, alone)]
        assert found[0] == pytest.approx(found[1], nan_ok=True)


@pytest.mark.parametrize("way", ["zero_attention", "states"])
def test_states_are_asked_by_taking_their_weight_or_what_they_say(way):
    aggregator = Importance(erasures=(way,)).examine(examination(Mechanism(Gathered("last"), At("last"))))
    assert mean(aggregator, erasure=way) > 0.9


@pytest.mark.parametrize("bend", [None, lambda said: torch.tanh(3 * said)], ids=["affine", "bent"])
def test_of_states_that_say_the_same_the_output_takes_what_their_weights_say(bend):
    """Taking weights out moves nothing there; exchanging what states say does."""
    leak = examination(Mechanism(Leaked(share=1.0), OnOthers()), bend=bend)
    states = Importance(erasures=("states",)).examine(leak)
    assert mean(states, erasure="states") == pytest.approx(1.0, abs=0.1)
    peaked = examination(Mechanism(Own(), OnOthers(sharp=3.0)), bend=bend)
    assert mean(Importance(erasures=("states",)).examine(peaked), erasure="states") < 0.2


def test_the_one_reason_is_what_neither_other_words_nor_other_weights_replace():
    votes = Importance().examine(examination(Mechanism(Own(), OnDeciding(sharp=8.0)), Keyword(**SMALL)))
    leak = Importance().examine(examination(Mechanism(Leaked(share=1.0), OnDeciding()), Keyword(**SMALL)))
    assert mean(votes, "one") > 0.9
    assert mean(leak, "held") > 0.9
    assert mean(leak, "one") < 0.05


def test_of_many_texts_some_are_drawn_and_the_others_counted():
    table = Importance(texts=10, erasures=("mask",)).examine(examination(texts=30, total=30)).to_pandas()
    drawn = table["not_judged"].isna().sum()
    assert 3 <= drawn <= 20
    assert (table["not_judged"] == "not drawn").sum() == 30 - drawn
    none = Importance(texts=1, erasures=("mask",)).examine(examination(texts=1, total=10**6)).to_pandas()
    assert none["not_judged"].tolist() == ["not drawn"]


def test_a_prediction_that_no_word_moves_is_not_judged():
    table = Importance().examine(examination(scale=0.0)).to_pandas()
    assert set(table["not_judged"]) == {"no word moves the prediction"}


@pytest.mark.parametrize(
    "text",
    ["orders=6", "players=1", "texts=-1", "decides=1.0", "erasures=()", "explainers=()", "erasures=('shred',)"],
)
def test_parameters_that_cannot_be_are_refused(text):
    with pytest.raises(InputError):
        CHALLENGES.parse(f"importance({text})")


def test_a_text_that_is_drawn_is_judged_as_if_all_were_and_none_may_be_drawn():
    asked = examination(total=24)
    some, every, none = (
        Importance(erasures=("mask", "states"), texts=count).examine(whole).to_pandas()
        for count, whole in ((8, asked), (0, asked), (1, examination(total=10**9)))
    )
    judged = some["not_judged"].isna()
    assert 0 < judged.sum() < len(some) == len(every) == len(none)
    assert some["held"][judged].to_numpy() == pytest.approx(every["held"][judged].to_numpy())
    assert (some["not_judged"][~judged] == "not drawn").all()
    assert (none["not_judged"] == "not drawn").all()

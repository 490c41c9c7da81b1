"""Truth by intervention: Shapley values against brute force, and models whose truth is plain."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
import torch

from attentest.calibration.hand_built import Mechanism, built
from attentest.calibration.intervention import Interviewer, log_odds
from attentest.calibration.mechanisms import At, Gathered, Leaked, OnDeciding, OnOthers, Own, Uniform
from attentest.calibration.shapley import Drawn, all_sets_values, exact_values, sampled_values
from attentest.calibration.truth import truth_of
from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.data.worlds.composed import Conjunction, Negation, Order
from attentest.data.worlds.simple import AnyOf, Keyword, Majority
from attentest.explainers import EXPLAINERS

SMALL = {"train": 200, "dev": 10, "test": 40}
WORLDS = [Keyword(**SMALL), Keyword(**SMALL, outcomes=6), Majority(**SMALL), AnyOf(**SMALL), Conjunction(**SMALL)]
WORLDS += [Negation(**SMALL), Order(**SMALL), Majority(**SMALL, votes=5, length=30, distractors=3)]


def brute_force(worth, own, counts):
    """Shapley values as they are defined: all orders, all options of what is not there yet."""
    size = len(own)
    values = np.zeros(size)
    orders = list(permutations(range(size)))
    backgrounds = list(product(*(range(count) for count in counts)))
    for order in orders:
        for background in backgrounds:
            chosen = np.array(background)
            before = worth(chosen[None])[0]
            for unit in order:
                chosen[unit] = own[unit]
                after = worth(chosen[None])[0]
                values[unit] += (after - before) / len(orders) / len(backgrounds)
                before = after
    return values


def game(choices):
    """A worth with an interaction, a redundancy and a unit that does nothing."""
    a, b, c, _ = np.asarray(choices, dtype=float).T
    return 2 * a + a * b - np.maximum(b, c)


OWN, COUNTS = np.array([1, 2, 0, 1]), np.array([2, 3, 2, 2])


def test_exact_values_are_shapley_s_definition():
    assert exact_values(game, OWN, COUNTS, [0, 1, 2, 3]).values == pytest.approx(brute_force(game, OWN, COUNTS))


def test_sampled_values_lie_within_their_error_and_add_up():
    true = brute_force(game, OWN, COUNTS)
    for method, count in ((sampled_values, {"orders": 4000}), (all_sets_values, {"draws": 2000})):
        found = method(game, OWN, Drawn(COUNTS), [[0], [1], [2], [3]], random=np.random.default_rng(0), **count)
        assert np.abs(found.values - true).max() < 4 * found.errors.max()
        assert found.errors.max() < 0.05
        assert found.values[3] == 0.0
        assert found.values.sum() == pytest.approx(true.sum(), abs=0.15)


def test_groups_of_units_are_put_back_together():
    whole = sampled_values(game, OWN, Drawn(COUNTS), [[0, 1, 2, 3]], orders=4000, random=np.random.default_rng(0))
    assert whole.values[0] == pytest.approx(brute_force(game, OWN, COUNTS).sum(), abs=0.1)


def test_units_that_are_drawn_together_take_the_same_option():
    draw = Drawn(np.array([9, 4, 9, 9]), np.array([True, False, True, True]))
    even = draw.evenly(360, np.random.default_rng(0))
    assert (np.bincount(even[:, 0]) == 40).all()
    assert (even[:, [0]] == even[:, [2, 3]]).all()
    drawn = draw(200, np.random.default_rng(0))
    assert (drawn[:, [0]] == drawn[:, [2, 3]]).all()
    assert set(drawn[:, 0]) == set(range(9))
    assert set(drawn[:, 1]) == set(range(4))
    assert (drawn[:, 0] != drawn[:, 1]).any()


def test_too_many_sets_are_refused():
    with pytest.raises(ValueError, match="too many"):
        exact_values(game, OWN, np.array([2, 3, 2, 9999]), [0, 1, 2, 3])


def model(mechanism, world, **about):
    vocabulary = Vocabulary.from_split(world.load()["train"])
    return built(mechanism, world, vocabulary, **about), vocabulary


@pytest.mark.parametrize("world", WORLDS, ids=str)
@pytest.mark.parametrize(
    ("mechanism", "words", "states"),
    [
        (Mechanism(Own(), OnDeciding()), (0.95, 1.0), None),
        (Mechanism(Own(), OnOthers()), (-0.5, 0.05), (-0.5, 0.05)),
        (Mechanism(Own(), Uniform()), (-0.01, 0.01), (-0.01, 0.01)),
        (Mechanism(Leaked(), OnOthers()), (-0.5, 0.05), (0.8, 1.0)),
        (Mechanism(Gathered("last"), At("last")), (-0.5, 0.05), (0.8, 1.0)),
    ],
    ids=["votes", "looks away", "uniform", "leak", "aggregator"],
)
def test_models_that_are_plain_by_construction_have_that_truth(world, mechanism, words, states):
    subject, vocabulary = model(mechanism, world)
    corpus = world.load()["test"]
    predicted = subject.read(Encoded.of(corpus, vocabulary).batch(np.arange(len(corpus)))).predicted.numpy()
    assert (predicted == corpus.labels).mean() > 0.95
    truth = truth_of(subject, world.texts()[:8], vocabulary).means()
    assert words[0] <= truth["words"] <= words[1] + 1e-9
    assert truth["one"] <= truth["words"] + 0.3
    if states is not None:
        assert states[0] <= truth["states"] <= states[1] + 1e-9


def test_truth_does_not_depend_on_temperature():
    world = Majority(**SMALL)
    found = []
    for scale in (0.5, 20.0):
        subject, vocabulary = model(Mechanism(Own(), OnDeciding(covered=0.5)), world, scale=scale)
        found.append(truth_of(subject, world.texts()[:6], vocabulary))
    assert found[0].words == pytest.approx(found[1].words, nan_ok=True)
    assert found[0].states == pytest.approx(found[1].states, nan_ok=True)


def test_the_states_of_a_head_that_is_not_affine_are_judged_too():
    world = Majority(**SMALL)
    subject, vocabulary = model(Mechanism(Gathered("first"), At("first")), world, bend=torch.tanh)
    truth = truth_of(subject, world.texts()[:5], vocabulary).means()
    assert truth["words"] < 0.2
    assert truth["states"] > 0.9


def test_asking_with_the_own_options_is_reading_the_text():
    world = Negation(**SMALL)
    subject, vocabulary = model(Mechanism(Own(), OnDeciding()), world)
    split = world.load()["test"]
    whole = subject.read(Encoded.of(split, vocabulary).batch(np.arange(3)))
    for row, text in enumerate(world.texts()[:3]):
        asked = Interviewer(subject, vocabulary, text)
        torch.testing.assert_close(asked.logits(asked.own[None])[0], whole.logits[row])


def test_log_odds_are_those_of_the_softmax():
    logits = torch.randn(5, 4, dtype=torch.double)
    of = torch.tensor([0, 1, 2, 3, 1])
    p = logits.softmax(-1)[torch.arange(5), of]
    torch.testing.assert_close(log_odds(logits, of), (p / (1 - p)).log())


def test_frozen_embeddings_have_gradients_at_states_too():
    world = Majority(**SMALL)
    subject, vocabulary = model(Mechanism(Own(), OnDeciding()), world)
    batch = Encoded.of(world.load()["test"], vocabulary).batch(np.arange(4))
    scores = EXPLAINERS.parse("gradient_state").scores(subject, batch, subject.read(batch))
    assert (scores > 0).any(-1).all()


@pytest.mark.parametrize(
    ("mechanism", "low", "high"),
    [
        (Mechanism(Own(), OnDeciding(sharp=8.0)), 0.9, 1.0),
        (Mechanism(Leaked(share=1.0), OnDeciding()), 0.0, 0.05),  # other weights would do
        (Mechanism(Own(), OnOthers()), -1.0, 0.05),
    ],
)
def test_the_one_reason_leaves_nothing_to_other_words_or_other_weights(
    mechanism: Mechanism, low: float, high: float
) -> None:
    """Attention may hold all that mattered and still not be the one reason."""
    world = Keyword(train=60, dev=5, test=12)
    vocabulary = Vocabulary.from_split(world.load()["train"])
    one = truth_of(built(mechanism, world, vocabulary), world.texts()[:12], vocabulary).means()["one"]
    assert low <= one <= high

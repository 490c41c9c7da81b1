"""What does not depend on a model's temperature or bias, and what rounding is not taken for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attentest.calibration.hand_built import Mechanism, built
from attentest.calibration.mechanisms import Leaked, OnDeciding, OnOthers, Own
from attentest.challenges import CHALLENGES
from attentest.challenges.challenge import Examination
from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.data.worlds.simple import Majority

TEXTS = 12


def asked(mechanism, *, scale=6.0, bias=0.0, outcomes=2, bend=None):
    """A batch of a hand-built model, its logits scaled and the first class's raised."""
    world = Majority(train=60, dev=10, test=30, outcomes=outcomes)
    corpus = world.load()
    vocabulary = Vocabulary.from_split(corpus["train"])
    raised = torch.tensor([bias, *[0.0] * (outcomes - 1)])
    shape = bend or (lambda said: said)
    subject = built(mechanism, world, vocabulary, scale=scale, bend=lambda said: shape(said) + raised)
    batch = Encoded.of(corpus["test"], vocabulary).batch(np.arange(TEXTS))
    tokens = corpus["test"].table["tokens"].chunk(0).slice(0, TEXTS)
    return Examination(subject, batch, subject.read(batch), 0, tokens)


def column(challenge, examination, name):
    return np.array(CHALLENGES.parse(challenge).examine(examination)[name].to_pylist(), dtype=float)


@pytest.mark.parametrize("bend", [None, torch.tanh], ids=["affine", "bent"])
@pytest.mark.parametrize("outcomes", [2, 4])
@pytest.mark.parametrize(("challenge", "name"), [("uniform", "moved"), ("permutation", "median_moved")])
def test_what_weights_move_of_what_they_can_depends_on_no_temperature(challenge, name, outcomes, bend):
    mechanism = Mechanism(Own(), OnDeciding())
    usual = column(challenge, asked(mechanism, outcomes=outcomes, bend=bend), name)
    assert np.nanmean(usual) > 0.1
    assert (usual[~np.isnan(usual)] <= 1 + 1e-6).all() or bend is not None
    for scale in (0.06, 0.6, 60.0):
        found = column(challenge, asked(mechanism, scale=scale, outcomes=outcomes, bend=bend), name)
        assert found == pytest.approx(usual, rel=1e-4, nan_ok=True)
    changes = [column("uniform", asked(mechanism, scale=scale), "change").mean() for scale in (0.06, 6.0)]
    assert changes[0] < changes[1] / 5, "the change of a probability does depend on it"


@pytest.mark.parametrize(("challenge", "name"), [("uniform", "moved"), ("permutation", "median_moved")])
def test_nor_on_a_bias_that_leaves_the_predictions(challenge, name):
    mechanism = Mechanism(Own(), OnDeciding())
    usual = column(challenge, asked(mechanism), name)
    assert column(challenge, asked(mechanism, bias=0.05), name) == pytest.approx(usual, rel=1e-4, nan_ok=True)


def test_where_no_weights_move_anything_it_is_not_a_number():
    silent = asked(Mechanism(Leaked(share=1.0), OnOthers()))
    assert np.isnan(column("uniform", silent, "moved")).all()
    assert np.isnan(column("permutation", silent, "median_moved")).all()


def test_effects_that_are_rounding_are_not_judged():
    """Where all states say the same, taking one out changes the output by 1e-17, which was ranked."""
    silent = asked(Mechanism(Leaked(share=1.0), OnOthers()))
    assert 0 <= float(silent.scores("state_erasure").abs().max()) < 1e-12
    table = CHALLENGES.parse("agreement(pairs=('attention~state_erasure', 'state_erasure~leave_one_out'))").examine(
        silent
    )
    why = set(table["not_judged"].to_pylist())
    assert why <= {"no token moves the prediction", "constant scores"}
    assert np.isnan(column("permutation", silent, "shuffled_captured")).all()


def test_a_decision_that_is_rounding_cannot_flip():
    level = asked(Mechanism(Own(), OnDeciding()), scale=1e-9)
    table = CHALLENGES.parse("flip_sets").examine(level)
    assert set(table["not_judged"].to_pylist()) == {"two classes are level"}

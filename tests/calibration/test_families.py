"""Hand-built members: many mechanisms, each accurate, from faithful to misleading."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from attentest.calibration.families import members_of
from attentest.calibration.families.hand_built import HandBuilt
from attentest.calibration.families.recipes import RECIPES
from attentest.calibration.families.trained import Trained
from attentest.calibration.truth import truth_of
from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.errors import UnknownName
from attentest.runs.execute import execute


def hand_built(quick):
    return list(members_of(["hand-built"], quick=quick))


@pytest.mark.parametrize(("quick", "least", "cells"), [(True, 60, 60), (False, 300, 200)])
def test_there_are_many_members_of_many_mechanisms_in_many_worlds(quick, least, cells):
    found = hand_built(quick)
    assert len(found) >= least
    assert len({one.mechanism for one in found}) >= 18
    assert len({one.world for one in found}) >= 8
    assert len({one.world.partition("(")[0] for one in found}) >= 6
    assert len({(one.mechanism, one.world) for one in found}) >= cells
    assert len({one.name for one in found}) == len(found)


def test_every_dial_has_five_positions_in_one_world():
    for name, recipe in RECIPES.items():
        of = [one for one in hand_built(quick=False) if one.mechanism == name]
        first = [one.value for one in of if one.world == of[0].world and not one.seed]
        assert {*recipe.values} <= {*first}
        assert len({*recipe.values}) >= 5


def test_members_travel_to_other_processes():
    for one in hand_built(quick=True):
        assert pickle.loads(pickle.dumps(one)) == one


def accuracy(member, texts=40):
    known = member.known(None, texts)
    split = Split.of([str(i) for i in range(texts)], [t.words for t in known.texts], [t.label for t in known.texts])
    batch = Encoded.of(split, known.vocabulary).batch(np.arange(texts))
    right = known.subject.read(batch).predicted.numpy() == split.labels
    return right.mean(), np.bincount(split.labels).max() / texts


@pytest.mark.parametrize("member", hand_built(quick=True)[::2], ids=lambda member: member.name)
def test_hand_built_members_are_accurate(member):
    right, most_frequent = accuracy(member)
    assert right >= most_frequent + 0.2 or right >= 0.9


@pytest.mark.parametrize(
    ("mechanism", "world", "value", "low", "high"),
    [
        ("own / deciding", "world-majority", 6.0, 0.95, 1.01),
        ("own / others", "world-majority", 4.0, -1.0, 0.1),
        ("level / arbitrary", "world-keyword(outcomes=6)", 4.0, -1.0, 0.3),
        ("gather / last", "world-any", 0.05, -1.0, 0.2),
        ("running / last", "world-majority", 1.0, -1.0, 0.2),
        ("window / deciding", "world-order(length=30)", 2, 0.9, 1.01),
        ("own / not the negation", "world-negation(distractors=1)", 1.0, 0.3, 0.7),
        ("own / by class", "world-keyword(length=6)", 1.0, 0.2, 0.8),
        ("bypass / partial", "world-keyword(length=40, distractors=2, outcomes=20)", 0.5, 0.2, 0.8),
    ],
)
def test_the_truth_about_a_mechanism_is_what_it_was_built_for(mechanism, world, value, low, high):
    known = HandBuilt(mechanism, world, "dial", value).known(None, 30)
    found = truth_of(known.subject, known.texts, known.vocabulary, orders=16).means()["words"]
    assert low <= found <= high


def test_level_members_say_the_same_wherever_they_look():
    said = []
    for mechanism, value in (("level / others", 4.0), ("level / arbitrary", 2.0)):
        known = HandBuilt(mechanism, "world-majority", "sharp", value).known(None, 8)
        split = Split.of([str(i) for i in range(8)], [t.words for t in known.texts], [0] * 8)
        said.append(known.subject.read(Encoded.of(split, known.vocabulary).batch(np.arange(8))))
    assert np.allclose(*(one.logits.numpy() for one in said), atol=1e-4)
    assert not np.allclose(*(one.weights.numpy() for one in said), atol=1e-2)


def test_an_unknown_family_is_named():
    with pytest.raises(UnknownName, match="hand-bilt"):
        list(members_of(["hand-bilt"], quick=True))


def test_trained_members_are_of_every_kind_of_world_and_travel():
    found = list(members_of(["trained"], quick=False))
    assert 80 <= len(found) <= 120
    assert len({one.world for one in found}) == 7
    assert all(pickle.loads(pickle.dumps(one)) == one for one in found)
    assert not list(members_of(["trained"], quick=True))


def test_a_trained_member_is_known_by_the_texts_that_it_was_audited_on(tmp_path):
    member = Trained("average, additive", "world-keyword(outcomes=6)", "training texts", 500)
    run = member.run(["instances"], 20)
    folder = execute(run, tmp_path)
    known = member.known(folder, 20)
    assert [list(text.words) for text in known.texts] == run.examined().table["tokens"].to_pylist()
    found = truth_of(known.subject, known.texts[:8], known.vocabulary, orders=16).means()
    assert found["words"] > 0.8

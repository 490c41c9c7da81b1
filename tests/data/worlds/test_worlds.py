"""Worlds write the texts that they say, and what they exchange stays a text of theirs."""

from __future__ import annotations

import numpy as np
import pytest

from attentest.data.corpora import CORPORA
from attentest.data.worlds.composed import TURNS, Conjunction, Negation, Order
from attentest.data.worlds.lookup import LookUp
from attentest.data.worlds.simple import AnyOf, Keyword, Majority, told
from attentest.data.worlds.world import World, invented
from attentest.errors import InputError

SMALL = {"train": 200, "dev": 20, "test": 60}
WORLDS = [
    Keyword(**SMALL),
    Keyword(**SMALL, outcomes=20, distractors=2),
    Majority(**SMALL, votes=5),
    AnyOf(**SMALL),
    Conjunction(**SMALL),
    Negation(**SMALL),
    Order(**SMALL),
    LookUp(**SMALL, keys=3),
]
each_world = pytest.mark.parametrize("world", WORLDS, ids=lambda world: f"{world.name}-{len(world.classes)}")


def labelled(world: World, text, chosen) -> int:
    """The label of the text with other options, as the world says it."""
    words = text.with_options(chosen)
    said = [tuple(words[place] for place in unit.places) for unit in text.units if unit.decides]
    return world.label_of(said, text.query)


@each_world
def test_the_texts_with_units_are_those_of_the_corpus(world):
    corpus = world.load()
    for split in ("train", "dev", "test"):
        texts = world.texts(split)
        assert [list(text.words) for text in texts] == corpus[split].table["tokens"].to_pylist()
        assert [text.label for text in texts] == corpus[split].labels.tolist()
        assert [list(text.deciding) for text in texts] == corpus[split].table["rationale"].to_pylist()


@each_world
def test_every_place_belongs_to_one_unit_and_the_label_is_the_world_s(world):
    for text in world.texts():
        places = sorted(place for unit in text.units for place in unit.places)
        assert places == list(range(len(text.words)))
        assert labelled(world, text, [unit.chosen for unit in text.units]) == text.label


@each_world
def test_exchanging_what_does_not_decide_leaves_the_label(world):
    random = np.random.default_rng(0)
    for text in world.texts():
        drawn = [unit.chosen if unit.decides else int(random.integers(len(unit.options))) for unit in text.units]
        assert labelled(world, text, drawn) == text.label


@each_world
def test_exchanging_what_decides_changes_some_labels_and_every_class_occurs(world):
    random = np.random.default_rng(0)
    texts = world.texts("train")
    drawn = [labelled(world, text, [int(random.integers(len(unit.options))) for unit in text.units]) for text in texts]
    changed = np.mean([new != text.label for new, text in zip(drawn, texts, strict=True)])
    assert 0.2 < changed < 1.0
    assert {text.label for text in texts} == set(range(len(world.classes)))


def test_the_test_texts_do_not_depend_on_the_size_of_the_others():
    one, other = Majority(**SMALL), Majority(train=50, dev=5, test=60)
    assert [text.words for text in one.texts()] == [text.words for text in other.texts()]


def test_a_negation_stands_before_the_word_it_turns():
    for text in Negation(**SMALL).texts():
        before, cue = (unit for unit in text.units if unit.decides)
        assert cue.places[0] == before.places[0] + 1
        assert text.label == told(2)[cue.words[0]] ^ (before.words[0] in TURNS)


def test_redundant_words_are_many_where_there_are_any():
    telling = set(invented("trigger", 0, 6))
    counts = [sum(word in telling for word in text.words) for text in AnyOf(**SMALL, redundancy=5).texts("train")]
    assert 0.35 < np.mean([count == 0 for count in counts]) < 0.65
    assert np.mean([count for count in counts if count]) > 3


def test_length_classes_and_distractors_are_parameters():
    world = Keyword(**SMALL, length=60, outcomes=12, distractors=4)
    sizes = [len(text.words) for text in world.texts()]
    assert min(sizes) >= 40
    assert max(sizes) <= 80
    assert 55 < np.mean(sizes) < 65
    decoys = set(invented("decoy", 0, 12))
    assert all(sum(word in decoys for word in text.words) == 4 for text in world.texts())
    assert len(world.load().classes) == 12


def test_invented_words_are_all_different():
    words = [
        word
        for kind in ("cue", "decoy", "key", "trigger", "value")
        for n in range(64)
        for word in invented(kind, n, 16)
    ]
    assert len(set(words)) == len(words)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("world-keyword(outcomes=1)", "outcomes=1"),
        ("world-majority(votes=40)", "votes=40"),
        ("world-any(redundancy=1)", "redundancy=1"),
        ("world-lookup(keys=9)", "keys=9"),
        ("world-order(length=2)", "length=2"),
        ("world-keyword(distractors=-1)", "distractors=-1"),
    ],
)
def test_what_cannot_be_is_refused_with_its_value(text, value):
    with pytest.raises(InputError, match=value):
        CORPORA.parse(text).load()


def test_texts_that_would_repeat_themselves_are_refused():
    with pytest.raises(InputError, match="length=2"):
        Keyword(train=5000, dev=5, test=5, length=2).load()


def test_an_unknown_split_is_named():
    with pytest.raises(InputError, match="'validation'"):
        Keyword(**SMALL).texts("validation")

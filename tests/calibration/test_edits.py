"""People's edits as truth: spans, their values, and what attention's top words hold of them."""

from __future__ import annotations

import numpy as np
import pytest

from attentest.calibration.edit_study import EditRow, edit_table
from attentest.calibration.edits import Span, Twins, edit_truth, span_mass, spans_of, twins_of
from attentest.calibration.hand_built import Mechanism, built
from attentest.calibration.mechanisms import OnDeciding, OnOthers, Own, Uniform
from attentest.data.corpora import CORPORA
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.data.worlds.simple import Majority, told
from attentest.errors import InputError

WORLD = Majority(train=200, dev=10, test=40)
VOCABULARY = Vocabulary.from_split(WORLD.load()["train"])


def edited(text):
    """Every deciding word exchanged for one of the other class, and a filler added."""
    chosen = [(unit.chosen + 6) % 12 if unit.decides else unit.chosen for unit in text.units]
    words = text.with_options(chosen)
    return Twins(text.words, (*words, "the"))


@pytest.mark.parametrize(
    ("look", "low", "high"), [(OnDeciding(), 0.99, 1.0), (OnOthers(), -1, 0.05), (Uniform(), 0, 0)]
)
def test_what_is_held_of_an_edit(look, low, high):
    subject = built(Mechanism(Own(), look), WORLD, VOCABULARY)
    found = edit_truth(subject, VOCABULARY, [edited(text) for text in WORLD.texts()[:8]])
    assert found.flips.all()
    assert low - 1e-9 <= np.nanmean(found.held) <= high + 1e-9


def test_an_edit_that_changes_no_prediction_is_not_judged():
    subject = built(Mechanism(Own(), OnDeciding()), WORLD, VOCABULARY)
    words = WORLD.texts()[0].words
    found = edit_truth(subject, VOCABULARY, [Twins(words, words), Twins(words, (*words, "the"))])
    assert not found.flips.any()
    assert np.isnan(found.held).all()


def test_what_only_the_twin_has_cannot_be_shown():
    subject = built(Mechanism(Own(), OnDeciding()), WORLD, VOCABULARY)
    text = WORLD.texts()[0]
    others = [word for word, number in told(2).items() if number != text.label][:1]
    found = edit_truth(subject, VOCABULARY, [Twins(text.words, (*text.words, *others * 9))])
    assert found.flips.all()
    assert np.isnan(found.held).all()


def test_spans_are_where_two_texts_differ():
    twins = Twins(("a", "bad", "film", "indeed"), ("a", "very", "good", "film"))
    assert spans_of(twins) == [Span(1, 2, ("very", "good")), Span(3, 4, ())]
    assert spans_of(Twins(("a", "b", "c"), ("d", "e", "c"))) == [Span(0, 1, ("d",)), Span(1, 2, ("e",))]


def test_values_of_few_and_of_many_spans_agree_where_they_add_up():
    def worth(choices):
        return (1 - choices) @ np.arange(1.0, choices.shape[1] + 1)

    for spans in (3, 12):
        assert span_mass(worth, spans, np.random.default_rng(0)) == pytest.approx(np.arange(1.0, spans + 1))


def test_twins_are_found_by_their_ids():
    words = [["a"], ["b"], ["c"], ["d"], ["e"]]
    found = twins_of(Split.of(["7-o", "7-r", "8-o", "9-x", "none"], words, [0, 1, 0, 0, 0]))
    assert found == {"7-o": Twins(("a",), ("b",)), "7-r": Twins(("b",), ("a",))}
    names = ["test-original-1", "test-revised_premise-3", "test-revised_hypothesis-2"]
    pairs = Split.of(names, words[:3], [0, 1, 1], second=[["q"], ["q"], ["other"]])
    assert found.keys() == {"7-o", "7-r"}
    assert set(twins_of(pairs)) == {"test-original-1", "test-revised_premise-3"}


@pytest.mark.parametrize("name", ["cad_imdb", "cad_snli"])
def test_the_corpora_of_edits_have_twins(name):
    try:
        split = CORPORA.parse(name).load()["test"]
    except InputError as error:
        pytest.skip(str(error))
    twins = twins_of(split)
    assert len(twins) > 0.5 * len(split)
    assert all(spans_of(one) for one in list(twins.values())[:50])


def test_the_table_has_a_row_for_each_model():
    row = EditRow("cad_imdb", "bilstm", 0.8, 120, 90, 80, 0.3, 0.05, 0.4, 0.5)
    names, first = edit_table([row]).splitlines()
    assert names == "corpus,encoder,accuracy,texts,flips,judged,truth,error,delete,mask"
    assert first == "cad_imdb,bilstm,0.8,120,90,80,0.3,0.05,0.4,0.5"

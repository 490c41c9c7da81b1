"""Compiled transformers: they are right, their truth is that of their program, and they are checkpoints like others."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attentest.calibration.compiled.bert import compiled
from attentest.calibration.compiled.features import PERIODS, words_of_world
from attentest.calibration.compiled.mechanisms import MECHANISMS
from attentest.calibration.intervention import Interviewer, log_odds
from attentest.calibration.shapley import exact_values
from attentest.calibration.truth import truth_of, word_values
from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.data.worlds.composed import Negation, Order
from attentest.data.worlds.lookup import LookUp
from attentest.data.worlds.simple import Keyword, Majority
from attentest.models.huggingface.building import build_pretrained
from attentest.runs.describe import describe_run

SMALL = {"train": 20, "dev": 5, "test": 30}
FAITHFUL, UNFAITHFUL, NOTHING = (0.8, 1.0), (-0.5, 0.2), None


def subject_of(name, world, value=1.0):
    program = MECHANISMS[name](world, value)
    vocabulary = Vocabulary.from_split(Split.of(["all"], [words_of_world(world)], [0]))
    model, tokenizer = compiled(program, world)
    pair = world.task == "pair"
    return build_pretrained(model, tokenizer, vocabulary, pair=pair).at(program.site), vocabulary


@pytest.mark.parametrize(
    ("name", "world", "value", "words", "states"),
    [
        ("votes", Majority(**SMALL), 8.0, FAITHFUL, FAITHFUL),
        ("votes", Order(**SMALL), 8.0, FAITHFUL, (0.4, 0.8)),
        ("cue alone", Negation(**SMALL), 0.0, (0.2, 0.8), FAITHFUL),
        ("gather at end", Majority(**SMALL), 1.0, UNFAITHFUL, FAITHFUL),
        ("gather at first", Negation(**SMALL), 1.0, UNFAITHFUL, FAITHFUL),
        ("leak", Keyword(**SMALL, outcomes=6), -8.0, UNFAITHFUL, FAITHFUL),
        ("shift", Majority(**SMALL), 1.0, UNFAITHFUL, FAITHFUL),
        ("relay", Majority(**SMALL), 0.0, UNFAITHFUL, FAITHFUL),
        ("sink", Majority(**SMALL), 0.0, UNFAITHFUL, UNFAITHFUL),
        ("residual", Negation(**SMALL), 0.0, UNFAITHFUL, NOTHING),
        ("early", Majority(**SMALL), 0.0, FAITHFUL, FAITHFUL),
        ("bystander", Keyword(**SMALL), 0.0, FAITHFUL, NOTHING),
        ("induction", LookUp(**SMALL), 0.0, FAITHFUL, FAITHFUL),
        ("induction gathered", LookUp(**SMALL), 0.0, UNFAITHFUL, FAITHFUL),
    ],
)
def test_a_compiled_model_is_right_and_has_the_truth_of_its_program(name, world, value, words, states):
    subject, vocabulary = subject_of(name, world, value)
    split = world.load()["test"]
    with torch.no_grad():
        reading = subject.read(Encoded.of(split, vocabulary).batch(np.arange(len(split))))
    assert (reading.predicted.numpy() == split.labels).mean() > 0.95
    truth = truth_of(subject, world.texts()[:5], vocabulary, orders=32)
    assert words[0] <= np.nanmean(truth.words) <= words[1] + 1e-9
    if states is NOTHING:
        assert np.isnan(truth.states).all()
    else:
        assert states[0] <= np.nanmean(truth.states) <= states[1] + 1e-9


def test_the_place_before_is_told_from_all_others():
    apart = np.arange(1, 250)
    assert min(sum(1 - np.cos(2 * np.pi * apart / period) for period in PERIODS)) > 1.5


def test_what_units_did_is_what_the_library_s_own_model_says():
    """All sets and options of the deciding units, each text read by Transformers itself, as words with spaces."""
    world = Negation(**SMALL)
    program = MECHANISMS["gather at end"](world, 0.5)
    model, tokenizer = compiled(program, world)
    text = world.texts()[0]
    deciding = [number for number, unit in enumerate(text.units) if unit.decides]

    @torch.no_grad()
    def worth(choices):
        texts = [" ".join(text.with_options(choice)) for choice in choices]
        logits = torch.cat([model(**tokenizer(one, return_tensors="pt")).logits for one in texts])
        return log_odds(logits, predicted.expand(len(logits))).numpy()

    with torch.no_grad():
        predicted = model(**tokenizer(" ".join(text.words), return_tensors="pt")).logits.argmax(-1)
    own, counts = (np.array([f(unit) for unit in text.units]) for f in (lambda u: u.chosen, lambda u: len(u.options)))
    true = exact_values(worth, own, counts, deciding).values
    subject, vocabulary = subject_of("gather at end", world, 0.5)
    found, groups = word_values(Interviewer(subject, vocabulary, text), orders=2000, random=np.random.default_rng(0))
    at = [groups.index([unit]) for unit in deciding]
    assert found.values[at] == pytest.approx(true, abs=5 * found.errors[at].max() + 0.02)


def test_a_compiled_model_is_saved_and_audited_as_any_checkpoint(tmp_path):
    world = Majority(**SMALL)
    program = MECHANISMS["gather at end"](world, 1.0)
    model, tokenizer = compiled(program, world)
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path)
    run = describe_run(model=tmp_path, corpus=world.load(), site=program.site, challenges=["importance"])
    batch = Encoded.of(world.load()["test"], run.vocabulary).batch(np.arange(3))
    with torch.no_grad():
        reading = run.subject.at(program.site).read(batch)
    assert (reading.weights.argmax(-1) == batch.text.lengths - 2).all()

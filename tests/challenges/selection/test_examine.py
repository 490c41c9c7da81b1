"""The challenge `selection`: sets against erasing by hand, places against codes that are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from tests.conftest import classifier, made_up_corpus, made_up_split, whole
from tests.models.selectors.test_selecting import made

from attentest.challenges.challenge import Examination
from attentest.challenges.selection.examine import Selection
from attentest.challenges.selection.presentation import PRESENTATION
from attentest.challenges.selection.smuggling import Guesser, places
from attentest.data.batches import Encoded
from attentest.data.vocabulary import Vocabulary
from attentest.errors import InputError
from attentest.models.architecture import Architecture
from attentest.models.network import build_network
from attentest.models.networks.selecting import selected
from attentest.models.parts.encoders import ENCODERS
from attentest.models.parts.selectors import SELECTORS
from attentest.presentation.presentation import Results
from attentest.store.findings import Findings
from attentest.store.summary import estimate
from attentest.training.loop import Training, fit, task_objective
from attentest.training.selection import Selection as Pursued
from attentest.training.training_texts import TrainingTexts


def examination(model, encoded, split, **more) -> Examination:
    batch = whole(encoded)
    marks = torch.zeros_like(batch.mask)
    marks[batch.mask] = torch.tensor([m for row in split.table["rationale"].to_pylist() for m in row])
    tokens = pa.concat_arrays(split.table["tokens"].chunks)
    return Examination(model, batch, model.read(batch), 0, tokens, rationale=marks, marks="human", **more)


def test_what_is_left_of_the_prediction_is_that_of_texts_written_without_the_other_words():
    split = made_up_split(low=2)
    model, _ = made("hardkuma", split=split)
    about = examination(model, Encoded.of(split, Vocabulary.from_split(split)), split)
    rows = Selection().examine(about).to_pylist()
    own = selected(model.kept(about.batch), about.mask)
    before = about.probabilities
    judged = 0
    for row in rows:
        if row["explainer"] != "selection" or row["not_judged"]:
            continue
        text, at = about.tokens[row["row"]].as_py(), own[row["row"]][about.mask[row["row"]]].tolist()
        alone = [word for word, kept in zip(text, at, strict=True) if kept]
        rest = [word for word, kept in zip(text, at, strict=True) if not kept]
        said = about.reading.predicted[row["row"]]
        for words, column in ((alone, "sufficiency"), (rest, "comprehensiveness")):
            short = type(split).of(["x"], [words], [0])
            after = model.read(whole(Encoded.of(short, Vocabulary.from_split(split)))).probabilities[0, said]
            assert row[column] == pytest.approx((before[row["row"], said] - after).item(), abs=1e-5)
        marks = split.table["rationale"][row["row"]].as_py()
        assert row["selected"] == len(alone)
        assert row["instead"] == pytest.approx(0.0, abs=1e-6)
        if any(marks) and not all(marks):
            both = sum(a and b for a, b in zip(marks, at, strict=True))
            assert row["token_f1"] == pytest.approx(2 * both / (sum(marks) + sum(at)))
        judged += 1
    assert judged > 3
    counts = {row["explainer"]: [] for row in rows}
    for row in rows:
        counts[row["explainer"]].append(row["selected"])
    assert len({tuple(values) for values in counts.values()}) == 1


def test_first_words_are_first():
    split = made_up_split(low=4)
    model, _ = made("lei", split=split)
    about = examination(model, Encoded.of(split, Vocabulary.from_split(split)), split)
    scores = about.scores("first_words")
    for row in range(len(split)):
        real = scores[row][about.mask[row]]
        assert real[0] == 1
        assert (real.diff() < 0).all()


def test_places_hold_no_word_and_tell_a_code_and_not_a_chance_selection():
    generator = torch.Generator().manual_seed(0)
    mask = torch.arange(30) < torch.randint(12, 30, (600, 1), generator=generator)
    said = torch.randint(0, 2, (600,), generator=generator)
    random = (torch.rand(600, 30, generator=generator) < 0.2) & mask
    code = torch.zeros_like(mask)
    code[torch.arange(600), 4 + said] = True  # the fifth word for one class, the sixth for the other
    for chosen, least, most in ((code, 0.99, 1.0), (random, 0.35, 0.65)):
        told = places(chosen, mask)
        guesses = Guesser.of(told[:400], said[:400].numpy()).guesses(told[400:])
        right = {name: (guess == said[400:].numpy()).mean() for name, guess in guesses.items()}
        assert least <= right["places"] <= most
        assert right["length"] < 0.65
        assert len({*guesses["majority"]}) == 1


@pytest.mark.parametrize(("selector", "smuggles"), [("smuggler", True), ("lei(share=0.3)", False)])
def test_a_selector_built_to_smuggle_is_told_by_places_and_an_honest_one_is_not(selector, smuggles):
    corpus = made_up_corpus(count=400)
    vocabulary = Vocabulary.from_split(corpus["train"])
    parts = Architecture(ENCODERS.parse("bilstm(hidden=8)"), embedding=16, selector=SELECTORS.parse(selector))
    model = build_network(parts, len(vocabulary), 2, torch.Generator().manual_seed(0))
    train, dev, test = (Encoded.of(corpus[name], vocabulary) for name in ("train", "dev", "test"))
    training = Training(epochs=20, learning_rate=0.02, patience=0)
    pursued = Pursued(model, task_objective(model, train, training), training)
    fit(model, train, dev, training, seed=0, objective=pursued, score=pursued.score)
    about = examination(model, test, corpus["test"], training=TrainingTexts(lambda: train))
    assert (about.reading.predicted == about.batch.labels).double().mean() > 0.85
    challenge = Selection(explainers=("selection", "random"))
    findings = Findings("selection", challenge.measures, challenge.examine(about))
    told, majority = (estimate(findings, name) for name in ("places_right", "majority_right"))
    assert (told.value > 0.9) == smuggles
    assert majority.value < 0.7
    lines = [make(findings, Results({}, {})) for make in PRESENTATION.lines]
    assert lines[1].estimate.value == told.value
    marks = estimate(findings, "selection.auprc").value
    assert (marks > 0.6) != smuggles


def test_without_training_texts_nothing_is_told_by_places():
    split = made_up_split(low=2)
    model, _ = made("lei", split=split)
    about = examination(model, Encoded.of(split, Vocabulary.from_split(split)), split)
    assert Selection().examine(about)["places_right"].null_count == 4 * len(split)


def test_it_asks_for_something_that_selects():
    with pytest.raises(InputError, match=r"must begin with one that selects: .*selection"):
        Selection(explainers=("attention",))
    model, _ = classifier(Architecture(embedding=8), made_up_split())
    assert "models that select" in (Selection().objection(model, has_rationale=True) or "")


def test_the_classifier_of_places_is_learned_once_whatever_the_batches():
    split = made_up_split(count=24, low=2)
    model, _ = made("lei", split=split)
    encoded = Encoded.of(split, Vocabulary.from_split(split))
    about = examination(model, encoded, split, training=TrainingTexts(lambda: encoded))
    both = Selection().examine(about)
    half = torch.arange(7)
    again = Selection().examine(replace(about.some(half), training=TrainingTexts(lambda: encoded)))
    first = both.filter(pa.compute.equal(both["explainer"], "selection"))["places_right"].to_pylist()[:7]
    assert again["places_right"].to_pylist()[:7] == first
    assert np.isfinite(both["share"].to_numpy()).all()

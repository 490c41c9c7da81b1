"""Edits against a loop over pairs from the definition, with scikit-learn and random orders beside it."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
from sklearn.metrics import average_precision_score
from tests.conftest import classifier, whole

from attentest.challenges.challenge import Examination
from attentest.challenges.edits.examine import ALONE, Edits
from attentest.challenges.edits.figures import edited_words
from attentest.challenges.edits.presentation import edits_line
from attentest.challenges.edits.twins import EditedTexts
from attentest.data.corpora.cad_snli import edited
from attentest.data.corpus import Split
from attentest.measures.random_order import expected_hit
from attentest.measures.rank import mean_rank, top_k_hit
from attentest.models.architecture import Architecture
from attentest.models.parts.encoders import ENCODERS
from attentest.presentation.presentation import Results
from attentest.store.findings import Findings
from attentest.store.summary import estimate

GOOD, BAD = ["fine", "great", "warm", "bright"], ["dull", "poor", "cold", "grim"]


def texts(pairs: int = 12) -> Split:
    """Originals and revisions that differ in some words, one text that only loses words, and one that is alone."""
    draw = np.random.default_rng(3)
    ids, tokens, labels = [], [], []
    for pair in range(pairs):
        words = [f"w{k}" for k in draw.integers(0, 20, int(draw.integers(3, 9)))]
        place = int(draw.integers(0, len(words)))
        for version, label in (("o", pair % 2), ("r", 1 - pair % 2)):
            changed = list(words)
            changed[place] = str(draw.choice(GOOD if label else BAD))
            ids, tokens, labels = [*ids, f"{pair}-{version}"], [*tokens, changed], [*labels, label]
    shorter = [["w1", "not", "w2"], ["w1", "w2"]]
    return Split.of([*ids, "x-o", "x-r", "alone"], [*tokens, *shorter, ["w3", "w4"]], [*labels, 0, 1, 0])


@pytest.fixture(scope="module")
def examined() -> tuple[Split, Examination]:
    split = texts()
    model, encoded = classifier(Architecture(ENCODERS.parse("bilstm(hidden=6)"), embedding=8), split)
    # Taught to read the words that edits change, so that some edits are followed and some are not.
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for _ in range(12):
        optimiser.zero_grad()
        batch = whole(encoded)
        torch.nn.functional.cross_entropy(model.read(batch).logits, batch.labels).backward()
        optimiser.step()
    batch = whole(encoded)
    with torch.no_grad():
        reading = model.read(batch)
    tokens = pa.concat_arrays(split.table["tokens"].chunks)
    return split, Examination(
        model, batch, reading, 0, tokens, texts=len(split), donors=encoded.batch, edits=EditedTexts.of(split)
    )


def test_rows_are_those_of_a_loop_over_pairs(examined):
    split, examination = examined
    names, tokens, labels = split.ids, split.table["tokens"].to_pylist(), split.labels
    predicted = examination.reading.predicted.tolist()
    challenge = Edits(("attention", "leave_one_out", "first_words"), top=2)
    with torch.no_grad():
        table = challenge.examine(examination)
    seen = 0
    for row in table.to_pylist():
        own, name = row["row"], names[row["row"]]
        if name == "alone":
            assert row["not_judged"] == ALONE
            continue
        twin = names.index(name[:-1] + ("r" if name.endswith("o") else "o"))
        follows = predicted[own] == labels[own] and predicted[twin] == labels[twin]
        lost, _ = edited(tokens[own], tokens[twin])
        assert row["version"] == ("original" if name.endswith("o") else "revised")
        assert row["pair"] == names.index(name[:-1] + "o")
        assert row["outcome"] == ("followed" if follows else "not followed")
        assert row["edited"] == len(lost)
        if row["asked"] == "prediction":
            assert (row["followed"], row["flipped"]) == (follows, predicted[own] != predicted[twin])
            assert row["not_judged"] is None
        elif not lost:
            assert row["not_judged"] == "no word is edited"
        elif row["not_judged"] is None:
            seen += 1
            real = examination.mask[own]
            scores = examination.scores(row["explainer"])[own][real].numpy()
            marks = np.isin(np.arange(len(scores)), list(lost))
            assert row["average_precision"] == pytest.approx(average_precision_score(marks, scores))
            above = [
                np.mean([(s > scores[i]) + 0.5 * (s == scores[i]) for j, s in enumerate(scores) if j != i])
                for i in lost
            ]
            assert row["rank"] == pytest.approx(np.mean(above))
            top = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:2]
            assert row["hit"] == bool(set(top) & lost)
    assert seen > 40
    assert {row["outcome"] for row in table.to_pylist()} == {"followed", "not followed"}


def test_the_line_and_the_figure_tell_what_the_rows_say(examined):
    _, examination = examined
    challenge = Edits(("attention", "random"))
    with torch.no_grad():
        table = challenge.examine(examination)
    findings = Findings("edits", challenge.measures, table)
    pairs = [row for row in table.to_pylist() if row["asked"] == "prediction" and row["version"] == "revised"]
    pairs = [row for row in pairs if row["not_judged"] is None]
    line = edits_line(findings, Results({}, {}))
    assert line.estimate.judged == len(pairs) == 13
    assert line.estimate.value == pytest.approx(np.mean([row["followed"] for row in pairs]))
    assert estimate(findings, "attention.followed.average_precision").method.endswith("by text")
    drawn = [
        row for layer in edited_words(findings).to_dict()["layer"] for row in layer.get("data", {}).get("values", [])
    ]
    own = estimate(findings, "attention.followed.average_precision").value
    assert any(row.get("class") == "followed" and row["value"] == pytest.approx(own) for row in drawn)


def test_without_other_versions_every_text_says_so(examined):
    split, examination = examined
    assert EditedTexts.of(split.take([0, 2, 4])) is None
    with torch.no_grad():
        table = Edits(("attention",)).examine(replace(examination, edits=None))
    assert set(table["not_judged"].to_pylist()) == {ALONE}


def test_the_chance_of_a_hit_is_that_of_all_orders():
    for total, relevant, k in ((5, 2, 2), (4, 1, 3), (3, 2, 2), (3, 1, 5)):
        hits = [any(i < relevant for i in order[:k]) for order in itertools.permutations(range(total))]
        expected = expected_hit(torch.tensor([relevant]), torch.tensor([total]), k)
        assert float(expected) == pytest.approx(np.mean(hits))


def test_rank_and_hits_do_not_depend_on_padding():
    scores, marks = torch.tensor([[9.0, 1, 3, 3, 0, 9]]), torch.tensor([[True, False, True, False, False, True]])
    mask = torch.tensor([[False, True, True, True, True, False]])
    assert float(mean_rank(scores.double(), marks, mask)) == pytest.approx(0.5 / 3)
    assert top_k_hit(scores.double(), marks, mask, 1).tolist() == [True]
    assert top_k_hit(scores.double(), ~marks, mask, 1).tolist() == [False]

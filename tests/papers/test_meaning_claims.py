"""Tutek & Šnajder: models told apart by their terms and encoders, and the change of F1 under other weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import f1_score
from tests.papers.made_up_cells import MadeUpCell, run_folder, write

from attentest.papers.claims import Claim
from attentest.papers.outcomes import Outcome, evaluate
from attentest.store.findings import Measure

TUTEK = "tutek_snajder_2020"
TEXTS = 200
LABEL = (np.arange(TEXTS) % 2).astype(np.int32)


def cell(root: Path, *, seed: int = 0, encoder: str = "bilstm(hidden=150)", **choices: Any) -> MadeUpCell:
    """A run whose decisions under uniform weights are those of its own weights, but for twenty texts."""
    folder = run_folder(root, f"sst-{len(list(root.glob('*')))}", "sst")
    rng = np.random.default_rng(seed)
    predicted = np.where(rng.random(TEXTS) < 0.85, LABEL, 1 - LABEL).astype(np.int32)
    decided = predicted.copy()
    decided[:20] = 0
    table = {
        "id": [f"t{i:03d}" for i in range(TEXTS)],
        "predicted": predicted,
        "label": LABEL,
        "decided": decided,
        "correct": predicted == LABEL,
        "not_judged": pa.nulls(TEXTS, pa.string()),
    }
    write(folder, "uniform", "uniform", (Measure("accuracy", "correct", "fraction", "right"),), pa.table(table))
    chosen = {"corpus": "sst", "encoder": encoder, "attention": "additive", "seed": seed, "preset": "tutek"}
    return MadeUpCell({**chosen, **choices}, folder)


def found(cells: list[MadeUpCell], model: str, table: str = "Table 1") -> Outcome:
    outcomes = evaluate(TUTEK, cells)
    (one,) = (
        outcome
        for outcome in outcomes
        if isinstance(outcome.claim, Claim)
        and (outcome.claim.corpus, outcome.claim.model, outcome.claim.attention) == ("SST", model, "additive")
        and (outcome.claim.measure, outcome.claim.table) == ("f1_change_uniform", table)
    )
    return one


def test_the_change_of_f1_is_that_of_the_same_texts(tmp_path: Path) -> None:
    cells = [cell(tmp_path, seed=seed) for seed in range(2)]
    expected = []
    for one in cells:
        rows = one.folder.findings("uniform").table.to_pydict()
        before, after = (f1_score(rows["label"], rows[name]) for name in ("predicted", "decided"))
        expected.append(100 * (after - before))
    outcome = found(cells, "base")
    assert outcome.ours == pytest.approx(np.mean(expected))
    assert outcome.ours < 0


def test_a_model_is_known_by_its_term_whatever_its_weight(tmp_path: Path) -> None:
    cells = [cell(tmp_path, terms="tying(weight=20)")]
    assert found(cells, "tying").settled
    assert not found(cells, "base").settled
    assert not found(cells, "mlm").settled


def test_an_encoder_stands_for_a_model_only_with_just_its_parameters(tmp_path: Path) -> None:
    cells = [cell(tmp_path, encoder="bilstm(hidden=150,layers=2)")]
    assert found(cells, "base, 2 layers", "Table 6").settled
    for other, table in (("base", "Table 1"), ("concat", "Table 1"), ("base, 3 layers", "Table 6")):
        assert not found(cells, other, table).settled


def test_the_same_run_stands_in_both_tables(tmp_path: Path) -> None:
    cells = [cell(tmp_path)]
    assert found(cells, "base").ours == found(cells, "base, 1 layer", "Table 6").ours

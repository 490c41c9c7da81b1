from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from tests.support.made_up_records import made_up_records

from attentest.calibration.analysis.calibrated import errors_by, single_test, write_calibrated
from attentest.calibration.analysis.combination import RIVALS, combined_answers, fit_monotone
from attentest.calibration.analysis.fitting import errors_of
from attentest.calibration.analysis.literature import EVIDENCE
from attentest.calibration.analysis.scoring import doses, fooled_by, order_agrees, redundant, score, scores, spearman
from attentest.calibration.analysis.table import Table, read_records


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return read_records(made_up_records(tmp_path_factory.mktemp("records")))


def test_auroc_of_a_measure_is_scikit_learns_where_cells_are_alike(table: Table) -> None:
    name = "agreement.attention~gradient.tau"
    truth, values = table.truth("words"), table.column(name)
    clear = (truth >= 0.8) | (truth <= 0.2)
    assert score(table, name, "words").extremes.value == pytest.approx(
        roc_auc_score(truth[clear] >= 0.8, values[clear])
    )


def test_a_direction_is_that_of_the_paper_even_where_it_is_wrong(table: Table) -> None:
    turned = Table(table.frame.assign(**{"uniform.flipped": 1 - table.truth("words")}), table.texts)
    assert score(turned, "uniform.flipped", "words").extremes.value == 0
    assert score(table, "faithfulness.attention.sufficiency", "words").extremes.value > 0.8


def test_a_direction_that_no_paper_gives_is_learnt_from_other_mechanisms(table: Table) -> None:
    turned = Table(table.frame.assign(**{"permutation.accuracy": 1 - table.truth("words")}), table.texts)
    found = score(turned, "permutation.accuracy", "words")
    assert found.direction == 0
    assert found.extremes.value == 1


def test_what_follows_nothing_is_near_chance(table: Table) -> None:
    chance = {one.measure: one.near_chance for one in scores(table, "words")}
    assert chance["permutation.flips"]
    assert chance["adversary.upper"]
    assert not chance["importance.attention.held.mask"]


def test_tests_of_states_are_fooled_by_aggregators_about_words(table: Table) -> None:
    fooled = fooled_by(table, "agreement.attention~state_erasure.captured", "words")
    assert fooled
    assert all(one.mechanism.startswith("gather") and not one.faithful for one in fooled)
    assert fooled_by(table, "importance.attention.held.mask", "words") == []


def test_sensitivity_and_specificity_are_held_out(table: Table) -> None:
    found = score(table, "importance.attention.held.mask", "words")
    assert found.sensitivity.value == found.specificity.value == 1
    states = score(table, "agreement.attention~state_erasure.captured", "words")
    assert states.specificity.value < 0.75


def test_dials_are_followed_one_by_one(table: Table) -> None:
    held = doses(table, "importance.attention.held.mask", "words")
    assert held.mean.value > 0.95
    assert held.dials == len({*zip(table.names("mechanism"), table.names("world"), strict=True)})
    assert doses(table, "permutation.flips", "words").mean.value < 0.4
    # Aggregators' states are right whatever the dial: their dials are none of the states truth.
    assert doses(table, "importance.attention.held.states", "states").dials < held.dials


def test_tests_that_rank_alike_are_found(table: Table) -> None:
    groups = redundant(table, [*table.measures])
    assert ["importance.attention.held.delete", "importance.attention.held.mask"] in [sorted(g)[-2:] for g in groups]
    assert not any("permutation.flips" in group for group in groups)


def test_spearman_is_not_a_number_where_nothing_varies() -> None:
    assert np.isnan(spearman(np.ones(5), np.arange(5.0)))
    assert spearman(np.array([1, 2, np.nan, 3]), np.array([3, 2, 9, 1])) == pytest.approx(-1)


def test_the_order_of_tests_in_two_sets_of_members(table: Table) -> None:
    planted = table.names("family") == "planted"
    rho, count = order_agrees(scores(table.where(~planted), "words"), scores(table.where(planted), "words"))
    assert 0.3 < rho <= 1
    assert count == len(table.measures)


def test_no_weight_is_negative() -> None:
    rng = np.random.default_rng(0)
    faithful = np.arange(200) % 2 == 0
    good, bad = faithful + rng.normal(0, 0.3, 200), -1.0 * faithful + rng.normal(0, 0.3, 200)
    missing = np.full(200, np.nan)
    cells = (np.arange(200) // 4).astype(str)
    model = fit_monotone(np.stack([good, bad, missing], axis=1), faithful, cells)
    assert model.weights[0] > 0.5
    assert model.weights[1] == model.weights[2] == 0
    chance = model.chance(np.array([[1.0, 0, np.nan], [0.0, 0, np.nan]]))
    assert chance[0] > 0.8
    assert chance[1] < 0.2


@pytest.mark.slow
def test_rivals_are_judged_by_the_same_rule(table: Table) -> None:
    errors = errors_of(*combined_answers(table, "reason", (*EVIDENCE["reason"], *RIVALS)))
    assert errors.yes[0] <= 2
    assert errors.no[0] <= 2
    alone = errors_of(*single_test(table, "reason", "adversary.upper"))
    assert alone.abstain[0] / alone.abstain[1] > 0.7  # what tells nothing must abstain


@pytest.mark.slow
def test_the_combination_of_a_mechanism_does_not_see_it(table: Table) -> None:
    measures = EVIDENCE["reason"]
    before = combined_answers(table, "reason", measures)[1]
    own = table.names("mechanism") == "own 0"
    frame = table.frame.copy()
    frame.loc[own, "truth words"] = 1 - frame.loc[own, "truth words"]
    after = combined_answers(Table(frame, table.texts), "reason", measures)[1]
    assert (before[own] == after[own]).all()


@pytest.mark.slow
def test_whole_kinds_of_world_are_left_out(table: Table) -> None:
    found = errors_by(table, "world")
    assert set(found) == {*EVIDENCE, "text"}
    assert found["reason"].yes[0] == 0


@pytest.mark.slow
def test_the_program_is_told_marks_errors_and_areas(table: Table, tmp_path: Path) -> None:
    write_calibrated(table, tmp_path / "calibrated.json")
    found = json.loads((tmp_path / "calibrated.json").read_text())
    assert set(found) == {"marks", "errors", "thorough", "auroc", "range", "members", "mechanisms", "cells"}
    assert set(found["marks"]) == set(found["errors"]) == {*EVIDENCE, "text"}
    no, yes = found["marks"]["reason"]
    assert 0 < no < yes < 1
    hits, size, low, high = found["errors"]["reason"]["yes"]
    assert low <= hits / size <= high
    for name in ("importance.attention.held.mask", "verdict.reason"):
        value, low, high = found["auroc"][name]["words"]
        assert low <= value <= high
    assert found["range"]["classes"] == [2, 5]
    assert found["members"] == len(table)
    assert found["mechanisms"] == 16

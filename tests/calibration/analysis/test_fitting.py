from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attentest.calibration.analysis.fitting import NEVER, Evidence, errors_of, fit_marks, folds, held_out
from attentest.calibration.analysis.rule import Marks, answer_of, tone_of


def made(values: np.ndarray, truth: np.ndarray, mechanism: np.ndarray | None = None, half: float = 0.0) -> Evidence:
    """Members with one column whose interval reaches so far to either side."""
    intervals = np.stack([values - half, values + half], axis=-1)[:, None, :]
    names = np.arange(len(truth)).astype(str) if mechanism is None else mechanism
    return Evidence(intervals, truth, names.astype(object), np.array(["w"] * len(truth), dtype=object))


MARKS = Marks(0.3, 0.6)


@pytest.mark.parametrize(
    ("low", "high", "tone"),
    [
        (0.6, 0.9, "supports"),
        (0.59, 0.9, "unsettled"),
        (0.1, 0.3, "against"),
        (0.1, 0.31, "unsettled"),
        (0.31, 0.59, "mixed"),
        (math.nan, math.nan, "unsettled"),
    ],
)
def test_a_tone_needs_the_whole_interval(low: float, high: float, tone: str) -> None:
    assert tone_of(low, high, MARKS) == tone


YES, NO, BETWEEN, OPEN = (0.7, 0.8), (0.0, 0.1), (0.4, 0.5), (0.2, 0.7)


@pytest.mark.parametrize(
    ("intervals", "answer"),
    [
        ([YES, YES], "yes"),
        ([NO, NO], "no"),
        ([YES, NO], "cannot say"),
        ([YES, BETWEEN], "with care"),
        ([NO, BETWEEN], "with care"),
        ([OPEN, BETWEEN], "with care"),
        ([YES, OPEN], "cannot say"),
        ([NO, OPEN], "cannot say"),
        ([], "cannot say"),
    ],
)
def test_answers_need_all_columns(intervals: list[tuple[float, float]], answer: str) -> None:
    assert answer_of(intervals, MARKS) == answer


def test_marks_that_cross_are_refused() -> None:
    with pytest.raises(ValueError, match="must not lie above"):
        Marks(0.7, 0.6)


def test_separated_members_get_the_marks_that_nine_in_ten_reach() -> None:
    faithful, unfaithful = np.arange(81, 101) / 100, np.arange(0, 20) / 100
    truth = np.repeat([1.0, 0.0], 20)
    marks = fit_marks(made(np.concatenate([faithful, unfaithful]), truth))
    assert marks == Marks(0.17, 0.83)  # 18 of 20 lie at or beyond each


def test_marks_move_outwards_until_few_are_wrong() -> None:
    # One in ten of the unfaithful looks faithful at .95, so the mark of yes must lie above it.
    faithful, unfaithful = np.linspace(0.7, 1, 40), np.concatenate([np.linspace(0, 0.1, 36), np.full(4, 0.95)])
    marks = fit_marks(made(np.concatenate([faithful, unfaithful]), np.repeat([1.0, 0.0], 40)))
    assert marks.yes == 0.96
    assert marks.no == pytest.approx(0.1)


def test_every_cell_counts_alike_in_the_fit() -> None:
    # Ninety members of one mechanism at .5 are one cell of ten: nine in ten of the cells reach .9.
    values = np.concatenate([np.full(90, 0.5), np.full(9, 0.9), np.zeros(5)])
    truth = np.concatenate([np.ones(99), np.zeros(5)])
    mechanism = np.concatenate([np.full(90, "many"), np.arange(14).astype(str)])
    assert fit_marks(made(values, truth, mechanism)).yes == 0.9
    assert fit_marks(made(values, truth)).yes == 0.5


def test_marks_that_would_cross_meet_halfway() -> None:
    values, truth = np.concatenate([np.full(20, 0.8), np.full(20, 0.4)]), np.repeat([0.0, 1.0], 20)
    marks = fit_marks(made(values, truth))
    assert marks.no == marks.yes or marks.no <= marks.yes
    assert marks.yes == 0.81  # no unfaithful member may get a yes
    assert marks.no == 0.39


def test_without_clear_members_of_both_kinds_nothing_is_answered() -> None:
    marks = fit_marks(made(np.linspace(0, 1, 9), np.full(9, 0.9)))
    assert (marks.no, marks.yes) == (-NEVER, NEVER)


def test_two_columns_must_both_reach_the_mark() -> None:
    intervals = np.array([[[0.9, 0.95], [0.4, 0.5]]] * 10 + [[[0.0, 0.1], [0.1, 0.2]]] * 10)
    names = np.arange(20).astype(str).astype(object)
    marks = fit_marks(Evidence(intervals, np.repeat([1.0, 0.0], 10), names, names))
    assert marks == Marks(0.2, 0.4)


@given(st.lists(st.tuples(st.floats(-0.5, 1), st.floats(-0.2, 1), st.integers(0, 4)), min_size=6, max_size=40))
def test_marks_never_cross_and_wrong_answers_stay_few_where_fitted(rows: list[tuple[float, float, int]]) -> None:
    values, truth, mechanism = (np.array(column) for column in zip(*rows, strict=True))
    evidence = made(values, truth, mechanism.astype(str), half=0.02)
    marks = fit_marks(evidence)
    assert marks.no <= marks.yes
    said = evidence.answers(marks)
    for answer, side in (("yes", evidence.unfaithful), ("no", evidence.faithful)):
        if evidence.faithful.any() and evidence.unfaithful.any():
            cells = mechanism[side]
            wrong = [(said[side] == answer)[cells == cell].mean() for cell in set(cells.tolist())]
            assert np.mean(wrong) <= 0.05 + 1e-9


def test_a_mechanism_never_influences_its_own_marks() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(120)
    mechanism = rng.integers(0, 8, 120).astype(str)
    evidence = made(truth + rng.normal(0, 0.2, 120), truth, mechanism)
    own = {mechanism[inside][0]: fitted for inside, fitted in folds(evidence, mechanism)}
    for name, marks in own.items():
        changed = truth.copy()
        changed[mechanism == name] = rng.random(int((mechanism == name).sum()))
        values = evidence.intervals[:, 0, 0].copy()
        values[mechanism == name] = rng.normal(0, 5, int((mechanism == name).sum()))
        made_anew = folds(made(values, changed, mechanism), mechanism)
        again = {mechanism[inside][0]: fitted for inside, fitted in made_anew}
        assert again[name] == marks
        assert any(again[other] != own[other] for other in own)


def test_held_out_errors_are_counted() -> None:
    # "odd" looks faithful and is not: only when it is held out is it judged by marks that never saw it.
    values = np.array([0.9] * 20 + [0.1] * 20 + [0.5] * 5 + [0.95] * 2)
    truth = np.array([1.0] * 20 + [0.0] * 20 + [0.5] * 5 + [0.0] * 2)
    mechanism = np.array([f"m{i % 25}" for i in range(45)] + ["odd"] * 2)
    evidence = made(values, truth, mechanism, half=0.03)
    errors = errors_of(evidence, held_out(evidence, mechanism))
    assert errors.yes[:2] == (2, 22)
    assert errors.no[:2] == (0, 20)
    assert errors.abstain[:2] == (0, 42)
    assert errors.between[:2] == errors.care[:2] == (5, 5)
    assert errors.given_yes[:2] == (2, 22)
    assert errors.no[2].high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert errors.lists()["yes"][:2] == [2, 22]

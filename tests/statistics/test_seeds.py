"""Student's quantile, sums of means over seeds, and losses as shares of what is above chance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attentest.statistics.intervals import student
from attentest.statistics.seeds import OverSeeds, half_width


@pytest.mark.parametrize(("freedom", "printed"), [(1, 12.706), (2, 4.303), (4, 2.776), (9, 2.262), (120, 1.980)])
def test_the_quantile_is_that_of_the_printed_tables(freedom: int, printed: float) -> None:
    assert student(freedom) == pytest.approx(printed, abs=5e-4)


@given(st.lists(st.floats(-100, 100), min_size=3, max_size=30))
def test_the_interval_of_one_figure_is_students(figures: list[float]) -> None:
    one = OverSeeds(tuple(range(len(figures))), tuple(figures))
    assert half_width([(1.0, figures)]) == pytest.approx(one.half, abs=1e-9)
    assert half_width([(-2.0, figures)]) == pytest.approx(2 * one.half, abs=1e-9)


def test_a_difference_of_two_models_is_welchs_with_whole_degrees_of_freedom() -> None:
    left, right = (-40.0, -30.0, -35.0, -31.0), (-4.0, -8.0, -6.5)
    welch = stats.ttest_ind(left, right, equal_var=False)
    error = math.sqrt(np.var(left, ddof=1) / 4 + np.var(right, ddof=1) / 3)
    assert half_width([(1.0, left), (-1.0, right)]) == pytest.approx(student(math.floor(welch.df)) * error)
    assert math.isnan(half_width([(1.0, left), (-1.0, (1.0,))]))
    assert half_width([(1.0, (2.0, 2.0)), (-1.0, (1.0, 1.0))]) == 0


def test_shares_above_chance_take_the_score_of_the_same_seed() -> None:
    lost = OverSeeds((0, 1, 2), (-20.0, -30.0, -10.0))
    shares = lost.above(20.0, OverSeeds((1, 0, 3), (80.0, 60.0, 99.0)))
    assert (shares.seeds, shares.figures) == ((0, 1), (-0.5, -0.5))
    assert math.isnan(lost.above(20.0, OverSeeds((0,), (20.0,))).figures[0])

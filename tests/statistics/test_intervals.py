"""Intervals of means whose values are piled up at an end of their scale."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attentest.statistics.intervals import piled, wilson, wilson_of_mean
from attentest.store.summary import summarise

#: What the rare lower values are, and their mean.
RARE = {
    "nothing": (lambda random, size: np.zeros(size), 0.0),
    "half": (lambda random, size: np.full(size, 0.5), 0.5),
    "any": (lambda random, size: random.random(size), 0.5),
    "nearly all": (lambda random, size: 0.8 + 0.2 * random.random(size), 0.9),
}


@pytest.mark.parametrize("size", [30, 60, 200])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("rare", RARE)
def test_the_interval_covers_the_truth_where_values_lie_at_a_ceiling(rare: str, share: float, size: int) -> None:
    """Nominally 95 %; a percentile bootstrap alone misses up to 60 %. Of 100 trials 10 may miss by chance: p < .03."""
    random, (lower, mean) = np.random.default_rng(size), RARE[rare]
    truth, missed, trials = 1 - share * (1 - mean), 0, 100
    for _ in range(trials):
        values = np.ones(size)
        low = random.random(size) < share
        values[low] = lower(random, int(low.sum()))
        found = summarise(values, 0)
        missed += not found.low - 1e-12 <= truth <= found.high + 1e-12
    assert missed <= 10


def test_values_that_are_not_piled_keep_their_bootstrap_interval() -> None:
    random = np.random.default_rng(0)
    for values in (random.random(80), random.normal(size=80), random.random(80) * 30, np.full(80, 7.0)):
        assert piled(values) is None
    assert summarise(np.full(80, 7.0), 0).low == 7.0


def test_the_ends_of_the_scale() -> None:
    assert piled(np.array([1.0, 1.0, 0.3])) == (0.0, 1.0)
    assert piled(np.array([1.0, 1.0, -0.3])) == (-1.0, 1.0)
    assert piled(np.zeros(5)) == (0.0, 1.0)
    assert piled(np.array([0.5, 0.5, 1.0])) is None
    assert piled(np.array([])) is None


def test_without_spread_it_is_wilson_s_and_with_that_of_yes_and_no_too() -> None:
    assert wilson_of_mean(np.ones(30), 0.0, 1.0) == pytest.approx(wilson(30, 30))
    values = np.array([1.0] * 27 + [0.0] * 3)
    assert wilson_of_mean(values, 0.0, 1.0) == pytest.approx(wilson(27, 30), abs=0.01)
    assert wilson_of_mean(2 * values - 1, -1.0, 1.0).low == pytest.approx(2 * wilson(27, 30).low - 1, abs=0.02)


def test_where_texts_have_several_values_texts_count() -> None:
    values, text = np.ones(90), np.repeat(np.arange(30), 3)
    assert summarise(values, 0, together=text, unit="text").low == pytest.approx(wilson(30, 30).low)
    assert math.isnan(summarise(np.ones(1), 0).low)

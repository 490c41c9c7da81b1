from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from attentest.statistics import bootstrap
from attentest.statistics.bootstrap import bootstrap_mean, bootstrap_paired_difference
from attentest.statistics.intervals import wilson


def test_the_interval_is_that_of_resampled_means() -> None:
    sample = np.random.default_rng(1).normal(2, 1, 40)
    rng = np.random.default_rng(0)
    means = sorted(float(np.mean([sample[i] for i in rng.integers(40, size=40)])) for _ in range(4000))
    ours = bootstrap_mean(sample, resamples=4000)
    assert ours.value == pytest.approx(sample.mean())
    assert (ours.low, ours.high) == pytest.approx((means[100], means[3899]), abs=0.01)


def test_scipy_agrees_within_the_noise_of_resampling() -> None:
    sample = np.random.default_rng(2).exponential(size=200)
    theirs = stats.bootstrap((sample,), np.mean, method="percentile", n_resamples=5000, rng=3).confidence_interval
    ours = bootstrap_mean(sample, resamples=5000)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for trial in range(200):
        _, low, high = bootstrap_mean(rng.normal(size=60), seed=trial, resamples=400, level=0.9)
        hits += low <= 0 <= high
    assert stats.binomtest(hits, 200, 0.9).pvalue > 1e-3


def test_the_same_seed_gives_the_same_interval_whatever_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = np.random.default_rng(5).normal(size=50)
    before = bootstrap_mean(sample, seed=7)
    monkeypatch.setattr(bootstrap, "VALUES_AT_ONCE", 1)
    assert bootstrap_mean(sample, seed=7) == before
    assert bootstrap_mean(sample, seed=8) != before


@pytest.mark.parametrize("counted", [0, 1 << 27])
def test_what_is_kept_of_draws_changes_no_interval(monkeypatch: pytest.MonkeyPatch, counted: int) -> None:
    sample = np.random.default_rng(5).normal(size=5_000)
    monkeypatch.setattr(bootstrap, "COUNTED", counted)
    first, again = (bootstrap_mean(sample, seed=7) for _ in range(2))
    monkeypatch.setattr(bootstrap, "KEPT", 1 << 30)
    whole = bootstrap_mean(sample, seed=7)
    assert first == again
    assert (first.low, first.high) == pytest.approx((whole.low, whole.high), rel=1e-12)


def test_nothing_has_no_mean_and_one_value_has_no_interval() -> None:
    assert all(math.isnan(part) for part in bootstrap_mean([]))
    mean, low, high = bootstrap_mean([3.0])
    assert mean == 3
    assert math.isnan(low)
    assert math.isnan(high)
    assert all(math.isnan(part) for part in bootstrap_mean([1.0, math.nan]))


def test_paired_differences_know_their_pairs() -> None:
    a = np.random.default_rng(6).normal(0, 10, 80)
    ours = bootstrap_paired_difference(a + 1, a)
    assert tuple(ours) == pytest.approx((1, 1, 1))
    with pytest.raises(ValueError, match="80 values are paired with 3"):
        bootstrap_paired_difference(a, [1, 2, 3])


@given(st.integers(0, 50), st.integers(0, 50), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_wilson_is_scipys(successes: int, failures: int, level: float) -> None:
    n = successes + failures
    ours = wilson(successes, n, level)
    if not n:
        assert all(math.isnan(part) for part in ours)
        return
    theirs = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    assert tuple(ours) == pytest.approx((successes / n, theirs.low, theirs.high), abs=1e-12)
    assert 0 <= ours.low <= ours.value <= ours.high <= 1


def test_wilson_refuses_more_successes_than_trials() -> None:
    with pytest.raises(ValueError, match="3 successes of 2 trials"):
        wilson(3, 2)


@pytest.mark.slow
def test_torch_is_not_needed() -> None:
    code = "import sys, attentest.statistics.bootstrap; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

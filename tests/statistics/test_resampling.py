"""Intervals against slow twins: every resample computed by a loop."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, roc_auc_score

from attentest.statistics import resampling
from attentest.statistics.resampling import Sample, correlations, difference, f1, interval, means, roc_auc


def ids(count: int) -> tuple[str, ...]:
    return tuple(f"text-{i:04d}" for i in range(count))


def sample(values: np.ndarray) -> Sample:
    return Sample(ids(values.shape[1]), tuple(range(len(values))), means(values), values.size, 0)


def weights(count: int, rows: int = 5, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), size=rows).astype(np.float64)


def looped(of: Callable[[np.ndarray, int], float], drawn: np.ndarray, seeds: int) -> np.ndarray:
    """The statistic of the instances themselves, each as often as it was drawn."""
    places = [np.repeat(np.arange(len(row)), row.astype(int)) for row in drawn]
    return np.array([[of(place, seed) for seed in range(seeds)] for place in places])


def test_means_leave_out_what_is_not_there() -> None:
    values = np.array([[1.0, 2.0, math.nan], [math.nan, math.nan, math.nan]])
    assert np.allclose(means(values)(np.array([[1.0, 3.0, 5.0]])), [[1.75, math.nan]], equal_nan=True)


@pytest.mark.slow
@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_f1_of_a_resample_is_that_of_the_drawn_instances(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels, predicted = rng.integers(0, 3, (2, 2, 40))
    drawn = weights(40, seed=seed)
    assert np.allclose(
        f1(labels, predicted, [1])(drawn),
        looped(lambda i, s: f1_score(labels[s, i] == 1, predicted[s, i] == 1, zero_division=0), drawn, 2),
    )
    assert np.allclose(
        f1(labels, predicted, [0, 1, 2])(drawn),
        looped(
            lambda i, s: f1_score(labels[s, i], predicted[s, i], labels=[0, 1, 2], average="macro", zero_division=0),
            drawn,
            2,
        ),
    )


@pytest.mark.slow
def test_roc_auc_is_exact_on_all_instances_and_near_in_resamples() -> None:
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, (2, 400))
    scores = np.round(labels * 0.8 + rng.normal(0, 1, (2, 400)), 1)  # with ties
    statistic = roc_auc(labels, scores)
    own = [roc_auc_score(a, b) for a, b in zip(labels, scores, strict=True)]
    assert np.allclose(statistic(np.ones((1, 400))), [own])
    drawn = weights(400, rows=200)
    exact = looped(lambda i, s: roc_auc_score(labels[s, i], scores[s, i]), drawn, 2)
    assert np.abs(statistic(drawn) - exact).max() < 0.01
    assert np.allclose(statistic(drawn).std(0), exact.std(0), rtol=0.1)


def test_a_correlation_is_spearmans_on_all_instances() -> None:
    from scipy.stats import spearmanr

    rng = np.random.default_rng(4)
    x = np.round(rng.normal(size=(2, 60)), 1)
    y = x + rng.normal(size=(2, 60))
    y[0, 5] = math.nan
    found = correlations(x, y)(np.ones((1, 60)))[0]
    whole = np.isfinite(y[0])
    assert found[0] == pytest.approx(spearmanr(x[0, whole], y[0, whole]).statistic)
    assert found[1] == pytest.approx(spearmanr(x[1], y[1]).statistic)


def test_the_interval_of_one_seed_is_the_bootstrap_of_its_mean() -> None:
    values = np.random.default_rng(0).normal(0.4, 0.2, (1, 400))
    found = interval(sample(values), "key")
    assert found.value == pytest.approx(values.mean())
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.2 / math.sqrt(400), rel=0.15)


def test_seeds_that_differ_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.2, (5, 400))
    alike = interval(sample(noise + 0.4), "key")
    apart = interval(sample(noise + np.array([0.2, 0.3, 0.4, 0.5, 0.6])[:, None]), "key")
    assert apart.value == pytest.approx(alike.value)
    assert apart.high - apart.low > 3 * (alike.high - alike.low)


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    hits = 0
    for trial in range(100):
        rng = np.random.default_rng(trial)
        # Twelve seeds, because a bootstrap of very few is known to be too narrow.
        values = 0.4 + rng.normal(0, 0.05, (12, 1)) + rng.normal(0, 0.1, (1, 60)) + rng.normal(0, 0.1, (12, 60))
        found = interval(sample(values), str(trial))
        hits += found.low <= 0.4 <= found.high
    assert hits >= 85


def test_a_difference_on_the_same_texts_is_sharper_than_two_intervals() -> None:
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 0.3, (1, 300))
    left, right = shared + 0.5 + rng.normal(0, 0.02, (1, 300)), shared + 0.45
    found = difference(sample(left), sample(right), "key", same_model=False)
    assert 0 < found.low < 0.05 < found.high < 0.06
    alone = interval(sample(left), "key")
    assert found.high - found.low < 0.2 * (alone.high - alone.low)


def test_a_difference_from_itself_is_nothing() -> None:
    values = np.random.default_rng(0).normal(size=(3, 50))
    found = difference(sample(values), sample(values), "key", same_model=True)
    assert (found.value, found.low, found.high) == (0, 0, 0)


def test_the_same_claim_gives_the_same_interval_and_another_key_other_seeds() -> None:
    values = np.random.default_rng(0).normal(size=(3, 50)) + np.array([[0.0], [1.0], [2.0]])
    first = interval(sample(values), "key")
    resampling.draws_of_instances.cache_clear()
    assert interval(sample(values), "key") == first
    assert interval(sample(values), "other").low != first.low


def test_texts_that_only_one_side_has_do_not_matter_to_the_other() -> None:
    values = np.random.default_rng(0).normal(0.4, 0.1, (1, 80))
    fewer = Sample(ids(40), (0,), means(values[:, :40]), 40, 0)
    found = difference(fewer, sample(values), "key", same_model=False)
    assert found.value == pytest.approx(values[:, :40].mean() - values.mean())
    assert found.low < found.value < found.high


def test_a_figure_on_one_text_of_many_has_no_interval() -> None:
    one = np.full((1, 30), math.nan)
    one[0, 3] = 0.7
    found = interval(sample(one), "key")
    assert found.value == pytest.approx(0.7)
    assert math.isnan(found.low)

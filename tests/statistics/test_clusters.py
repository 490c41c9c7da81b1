from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from attentest.statistics.clusters import (
    Cells,
    cell_weights,
    clopper_pearson,
    clustered_auroc,
    clustered_share,
    weighted_auroc,
)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.floats(0.1, 3)), min_size=2, max_size=30))
def test_weighted_auroc_is_scikit_learns(rows: list[tuple[bool, int, float]]) -> None:
    positive, scores, weights = (np.array(column) for column in zip(*rows, strict=True))
    ours = weighted_auroc(positive, scores.astype(float), weights)
    if positive.all() or not positive.any():
        assert math.isnan(ours)
    else:
        assert ours == pytest.approx(roc_auc_score(positive, scores, sample_weight=weights))


def test_auroc_counts_every_cell_alike() -> None:
    # One cell repeats a wrong pair ninety times; it counts as one.
    positive = np.array([True, False] + [True] * 90 + [False] * 90)
    scores = np.array([1.0, 0.0] + [0.2] * 90 + [0.8] * 90)
    cells = np.array(["a"] * 2 + ["b"] * 180)
    by_hand = (1 + 1 + 1 + 0) / 4  # a above a, a above b, b above a, b below b
    assert clustered_auroc(positive, scores, cells, cells).value == pytest.approx(by_hand)


def test_a_perfect_auroc_has_an_interval() -> None:
    positive = np.array([True] * 8 + [False] * 8)
    clusters = np.array([f"m{i}" for i in range(16)])
    found = clustered_auroc(positive, positive.astype(float), clusters, clusters)
    assert found.value == found.high == 1.0
    assert found.low == pytest.approx(0.025 ** (1 / 8))


def test_a_nearly_perfect_auroc_has_no_narrower_interval_than_the_clusters_allow() -> None:
    positive = np.repeat([True, False], 80)
    clusters = np.repeat(np.arange(16), 10).astype(str)
    scores = positive.astype(float)
    scores[0] = -1
    found = clustered_auroc(positive, scores, clusters, clusters)
    assert 0.98 < found.value < 1
    assert found.low == pytest.approx(clopper_pearson(8 * found.value, 8).low)


def test_cells_are_drawn_within_their_clusters() -> None:
    cells = Cells(np.array(["a", "a", "b", "c"]), np.array(["1", "2", "1", "1"]), resamples=4000)
    assert cells.count == 4
    assert cells.clusters == 3
    by_cluster = np.stack([cells.drawn[:, cells.cluster == i].sum(1) for i in range(3)], axis=1)
    assert ((by_cluster / np.array([2, 1, 1])).sum(1) == 3).all()
    assert cells.drawn.mean(0) == pytest.approx(np.ones(4), abs=0.06)
    assert cells.drawn[:, 1].std() > cells.drawn[:, 2].std()


def clustered_sample(rng: np.random.Generator, clusters: int) -> tuple[np.ndarray, ...]:
    """Half of the clusters positive; scores share what their cluster and their cell have in common."""
    rows = []
    for cluster in range(clusters):
        mean = rng.normal(1.0 if cluster % 2 else 0.0, 0.7)
        for cell in range(rng.integers(1, 5)):
            within = mean + rng.normal(0, 0.3)
            rows += [(cluster % 2 == 1, within + rng.normal(0, 0.3), f"m{cluster}", f"c{cell}") for _ in range(4)]
    positive, scores, names, cells = zip(*rows, strict=True)
    return np.array(positive), np.array(scores), np.array(names), np.array(cells)


@pytest.mark.slow
def test_the_clustered_interval_covers_where_the_naive_one_does_not() -> None:
    truth = stats.norm.cdf(1 / math.sqrt(2 * (0.7**2 + 0.3**2 + 0.3**2)))
    rng = np.random.default_rng(0)
    clustered = naive = 0
    tries = 150
    for _ in range(tries):
        positive, scores, clusters, cells = clustered_sample(rng, 24)
        found = clustered_auroc(positive, scores, clusters, cells)
        alone = np.arange(len(scores)).astype(str)
        plain = clustered_auroc(positive, scores, alone, alone)
        clustered += found.low <= truth <= found.high
        naive += plain.low <= truth <= plain.high
    assert clustered / tries >= 0.88
    assert naive / tries <= 0.75


@given(st.integers(0, 20), st.integers(1, 20))
def test_the_exact_interval_is_scipys(hits: int, more: int) -> None:
    size = hits + more - 1 or 1
    hits = min(hits, size)
    theirs = stats.binomtest(hits, size).proportion_ci(method="exact")
    ours = clopper_pearson(hits, size)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_a_share_of_none_reaches_as_far_as_the_number_of_clusters_says() -> None:
    hits, clusters = np.zeros(300, dtype=bool), np.repeat(np.arange(15), 20).astype(str)
    found = clustered_share(hits, clusters)
    assert found.low == 0
    assert found.high == pytest.approx(1 - 0.025 ** (1 / 15))


def test_errors_of_one_cluster_widen_the_interval() -> None:
    clusters = np.repeat(np.arange(20), 10).astype(str)
    one, spread = np.zeros(200, dtype=bool), np.zeros(200, dtype=bool)
    one[:10] = True
    spread[::20] = True
    together, apart = clustered_share(one, clusters), clustered_share(spread, clusters)
    assert together.value == apart.value == 0.05
    assert together.high > 1.5 * apart.high


@pytest.mark.slow
def test_the_interval_of_a_clustered_share_covers() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(300):
        chances = rng.beta(0.5, 4.5, 20)  # on average .1
        hits = np.concatenate([rng.random(8) < chance for chance in chances])
        found = clustered_share(hits, np.repeat(np.arange(20), 8).astype(str))
        covered += found.low <= 0.1 <= found.high
    assert covered / 300 >= 0.9


def test_weights_of_cells_sum_to_one_in_each() -> None:
    cells = np.array(["a", "b", "a", "a"])
    assert cell_weights(cells).tolist() == pytest.approx([1 / 3, 1, 1 / 3, 1 / 3])


def test_one_hit_does_not_make_surer_than_none() -> None:
    clusters, none = np.arange(204) % 40, np.zeros(204, dtype=bool)
    one = none.copy()
    one[0] = True
    assert clustered_share(one, clusters).high >= clustered_share(none, clusters).high
    assert clustered_share(~one, clusters).low <= clustered_share(~none, clusters).low

"""Shares and AUROCs of instances that come in clusters: within one, they are more alike than across.

Clusters have cells, such as mechanisms that were tried in several worlds. An interval says what other clusters might
have given, so clusters are drawn first, and then cells within each.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache

import numpy as np
from scipy.special import betaincinv, stdtrit

from attentest.statistics.intervals import Interval

__all__ = ["Cells", "cell_weights", "clopper_pearson", "clustered_auroc", "clustered_share", "weighted_auroc"]

RESAMPLES = 2000
#: So few clusters with a hit do not tell how much clusters differ.
FEW = 5


class Cells:
    """The cells of instances, and how often each is drawn in every resample."""

    def __init__(self, clusters: np.ndarray, cells: np.ndarray, *, seed: int = 0, resamples: int = RESAMPLES) -> None:
        names = np.array([f"{cluster}\n{cell}" for cluster, cell in zip(clusters, cells, strict=True)], dtype=object)
        kept, first, self.of = np.unique(names, return_index=True, return_inverse=True)
        self.count = len(kept)
        _, self.cluster = np.unique(np.asarray(clusters, dtype=object)[first], return_inverse=True)
        self.clusters = int(self.cluster.max(initial=-1)) + 1
        self.drawn = self._drawn(np.random.default_rng(seed), resamples)

    def _drawn(self, generator: np.random.Generator, resamples: int) -> np.ndarray:
        """[resample, cell]: clusters are drawn, and for each drawn one as many of its cells as it has."""
        counts = generator.multinomial(self.clusters, np.full(self.clusters, 1 / self.clusters), size=resamples)
        drawn = np.zeros((resamples, self.count))
        for cluster in range(self.clusters):
            own = np.flatnonzero(self.cluster == cluster)
            tries = counts[:, cluster] * len(own)
            drawn[:, own] = generator.multinomial(tries, np.full(len(own), 1 / len(own)))
        return drawn


@lru_cache(maxsize=64)
def _cells(clusters: tuple[str, ...], cells: tuple[str, ...]) -> Cells:
    """The same instances are scored by many tests: their resamples are drawn once."""
    return Cells(np.array(clusters, dtype=object), np.array(cells, dtype=object))


def cell_weights(cells: np.ndarray) -> np.ndarray:
    """Weights under which every cell counts alike, whatever the number of its instances."""
    names = cells.tolist()
    sizes = Counter(names)
    return 1 / np.array([sizes[name] for name in names], dtype=np.float64)


def weighted_auroc(positive: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> float:
    """The chance that a positive instance scores above another, drawn by weight; ties count half."""
    above, below = weights * positive, weights * ~positive
    if not above.sum() > 0 or not below.sum() > 0:
        return math.nan
    return float(above[positive] @ _kernel(scores[positive], scores[~positive]) @ below[~positive]) / float(
        above.sum() * below.sum()
    )


def _kernel(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    difference = above[:, None] - below[None, :]
    kernel: np.ndarray = (difference > 0) + (difference == 0) / 2
    return kernel


def clustered_auroc(positive: np.ndarray, scores: np.ndarray, clusters: np.ndarray, cells: np.ndarray) -> Interval:
    """AUROC with every cell of either side counted alike, and its interval by drawing clusters and cells.

    Resampling sees no spread where every pair is ordered rightly, or wrongly, and too little close to it. Within half
    a cluster of 0 or 1, by the side that has fewer, the interval is at least that of as many independent trials.
    """
    together = _cells(tuple(clusters), tuple(cells))
    weights = np.zeros(len(scores))
    for side in (positive, ~positive):
        weights[side] = cell_weights(together.of[side])
    value = weighted_auroc(positive, scores, weights)
    if math.isnan(value):
        return Interval(value, math.nan, math.nan)
    fewer = min(len(np.unique(np.asarray(clusters, dtype=object)[side])) for side in (positive, ~positive))
    # Pairs are summed by cell once, so that a resample is a product of numbers of cells.
    size = together.count
    inside = np.zeros((size, len(scores)))
    inside[together.of, np.arange(len(scores))] = weights
    pairs = inside[:, positive] @ _kernel(scores[positive], scores[~positive]) @ inside[:, ~positive].T
    above, below = inside[:, positive].sum(1), inside[:, ~positive].sum(1)
    drawn = together.drawn
    total = (drawn @ above) * (drawn @ below)
    sums = ((drawn @ pairs) * drawn).sum(1)
    found = sums[total > 0] / total[total > 0]
    low, high = (float(end) for end in np.quantile(found, [0.025, 0.975]))
    if min(value, 1 - value) < 1 / (2 * fewer):
        exact = clopper_pearson(value * fewer, fewer)
        low, high = min(low, exact.low), max(high, exact.high)
    return Interval(value, min(low, value), max(high, value))


def clopper_pearson(successes: float, trials: float, level: float = 0.95) -> Interval:
    """A proportion and its exact interval; numbers need not be whole."""
    if not trials > 0:
        return Interval(math.nan, math.nan, math.nan)
    tail = (1 - level) / 2
    low = 0.0 if successes <= 0 else float(betaincinv(successes, trials - successes + 1, tail))
    high = 1.0 if successes >= trials else float(betaincinv(successes + 1, trials - successes, 1 - tail))
    return Interval(successes / trials, low, high)


def clustered_share(hits: np.ndarray, clusters: np.ndarray) -> Interval:
    """A share of instances with the exact interval of as many independent ones as say as much (Korn & Graubard 1998).

    Where all instances are alike there are as many of these as there are clusters: of 15 clusters without a hit the
    interval still reaches 22 %.
    """
    size = len(hits)
    if size == 0:
        return Interval(math.nan, math.nan, math.nan)
    _, of = np.unique(np.asarray(clusters, dtype=object), return_inverse=True)
    count = int(of.max()) + 1
    share = float(np.mean(hits))
    effective = float(count)
    if 0 < share < 1 and count > 1:
        residuals = np.bincount(of, np.asarray(hits, dtype=np.float64) - share)
        variance = count / (count - 1) * float((residuals**2).sum()) / size**2
        freedom = (float(stdtrit(size - 1, 0.975)) / float(stdtrit(count - 1, 0.975))) ** 2
        effective = min(float(size), share * (1 - share) / variance * freedom if variance > 0 else float(size))
    low, high = clopper_pearson(share * effective, effective)[1:]
    # A hit or two, or a miss or two, cannot make surer than none would: so few do not tell how clusters differ.
    none = clopper_pearson(0, count).high
    hit, missed = (len(np.unique(of[rows])) for rows in (np.asarray(hits, bool), ~np.asarray(hits, bool)))
    return Interval(share, min(low, 1 - none) if missed < FEW else low, max(high, none) if hit < FEW else high)

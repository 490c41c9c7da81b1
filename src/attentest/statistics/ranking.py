"""Rankings of methods over the same instances: which is better, how sure that is, and which cannot be told apart.

Everything comes from one paired bootstrap: instances are drawn again, the same ones for all methods, and the means
are compared anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from attentest.statistics.bootstrap import resampled_means
from attentest.statistics.intervals import Interval

__all__ = ["Dependence", "Ranking", "Standing", "dependence", "rank_methods"]

LEVEL = 0.95


@dataclass(frozen=True)
class Standing:
    """One method: its mean with an interval, its rank (1 is best) and the ranks it may have, its group of equals."""

    name: str
    mean: Interval
    rank: int
    #: One more than the methods that are surely better; and all methods, less those that are surely worse.
    rank_low: int
    rank_high: int
    #: Methods of one group cannot be told from the best of it; 1 is the best group.
    group: int


@dataclass(frozen=True)
class Ranking:
    """Methods from the best to the worst, and every two of them compared."""

    standings: tuple[Standing, ...]
    #: How many instances all methods have a value for.
    judged: int
    #: By names (a, b): the mean of a − b, with intervals that hold for all pairs at once.
    differences: Mapping[tuple[str, str], Interval]
    #: By names (a, b): the share of resamples in which a is better than b, ties counting half.
    better: Mapping[tuple[str, str], float]

    def told_apart(self, a: str, b: str) -> int:
        """1 when a is better than b, −1 when it is worse, 0 when the interval does not say."""
        difference = self.differences[a, b]
        return int(difference.low > 0) - int(difference.high < 0)

    def __getitem__(self, name: str) -> Standing:
        return next(standing for standing in self.standings if standing.name == name)


def rank_methods(values: Mapping[str, ArrayLike], *, seed: int = 0, resamples: int = 2000) -> Ranking:
    """Rank methods by their means, higher being better, over the instances for which all have a value (not NaN)."""
    names = list(values)
    sample = _paired(values)
    means, drawn = sample.mean(0), resampled_means(sample, seed=seed, resamples=resamples)
    low, high = _quantiles(drawn)
    differences, better = _pairs(names, means, drawn, len(sample))
    ranking = Ranking((), len(sample), differences, better)
    standings: list[Standing] = []
    leader, group = "", 0
    for place, i in enumerate(np.argsort(-means, kind="stable").tolist(), start=1):
        if not leader or ranking.told_apart(leader, names[i]) != 0:
            leader, group = names[i], group + 1
        said = [ranking.told_apart(names[i], other) for other in names]
        rank_low, rank_high = 1 + said.count(-1), len(names) - said.count(1)
        mean = Interval(float(means[i]), float(low[i]), float(high[i]))
        standings.append(Standing(names[i], mean, place, rank_low, rank_high, group))
    return Ranking(tuple(standings), len(sample), differences, better)


@dataclass(frozen=True)
class Dependence:
    """How far a ranking depends on the way it was made: the same methods and instances, measured in two ways."""

    #: Kendall's τ-b of the two rankings of the methods.
    tau: Interval
    #: (a, b): a is better than b in the first way and worse in the second.
    reversed: tuple[tuple[str, str], ...]
    #: (a, b): a is better than b in one way, and the other does not say.
    lost: tuple[tuple[str, str], ...]
    #: How many pairs are told apart alike.
    kept: int


def dependence(
    first: Mapping[str, ArrayLike], second: Mapping[str, ArrayLike], *, seed: int = 0, resamples: int = 2000
) -> Dependence:
    """Compare the rankings of two ways of measuring, over the instances that both have values for."""
    names = list(first)
    both = _paired({f"{way}/{name}": values[name] for way, values in enumerate((first, second)) for name in names})
    halves = both[:, : len(names)], both[:, len(names) :]
    ways = [rank_methods(dict(zip(names, half.T, strict=True)), seed=seed, resamples=resamples) for half in halves]
    drawn = resampled_means(both, seed=seed, resamples=resamples)
    taus = tau_b_of_rows(drawn[:, : len(names)], drawn[:, len(names) :])
    tau = float(tau_b_of_rows(halves[0].mean(0)[None], halves[1].mean(0)[None])[0])
    low, high = _quantiles(taus[~np.isnan(taus)]) if not np.isnan(taus).all() else (np.nan, np.nan)
    turned, lost, kept = [], [], 0
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            said = [way.told_apart(a, b) for way in ways]
            one, other = (a, b) if max(said, key=abs) > 0 else (b, a)
            if said[0] * said[1] < 0:
                turned.append((a, b) if said[0] > 0 else (b, a))
            elif said[0] != said[1]:
                lost.append((one, other))
            elif said[0]:
                kept += 1
    return Dependence(Interval(tau, float(low), float(high)), tuple(turned), tuple(lost), kept)


def _paired(values: Mapping[str, ArrayLike]) -> np.ndarray:
    columns = [np.asarray(column, dtype=np.float64).ravel() for column in values.values()]
    if len({len(column) for column in columns}) != 1:
        raise ValueError("Methods are ranked on the same instances: give every method one value for each of them.")
    table = np.stack(columns, axis=1)
    table = table[~np.isnan(table).any(1)]
    if not len(table):
        raise ValueError("No instance has a value for every method: there is nothing to rank.")
    return table


def _quantiles(drawn: np.ndarray) -> np.ndarray:
    ends: np.ndarray = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return ends


def _pairs(
    names: list[str], means: np.ndarray, drawn: np.ndarray, size: int
) -> tuple[dict[tuple[str, str], Interval], dict[tuple[str, str], float]]:
    """Differences with simultaneous intervals: as wide as the largest studentised deviation of any pair asks for."""
    difference = means[:, None] - means[None, :]
    apart = drawn[:, :, None] - drawn[:, None, :]
    error = apart.std(0)
    some = error > 1e-12
    deviation = np.abs(apart - difference) / np.where(some, error, 1.0)
    widest = np.quantile(np.where(some, deviation, 0.0).max((1, 2)), LEVEL)
    # Resampling a single instance cannot tell its spread.
    reach = np.where(some, widest * error, 0.0 if size > 1 else np.inf)
    share = (apart > 0).mean(0) + (apart == 0).mean(0) / 2
    differences, better = {}, {}
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            middle, width = float(difference[i, j]), float(reach[i, j])
            differences[a, b] = Interval(middle, middle - width, middle + width)
            better[a, b] = float(share[i, j])
    return differences, better


def tau_b_of_rows(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Kendall's τ-b of the rows of two arrays, NaN where all values of a row are equal."""
    signs = [np.sign(values[:, :, None] - values[:, None, :]) for values in (first, second)]
    pairs = (signs[0] * signs[1]).sum((1, 2))
    norm = np.sqrt((signs[0] ** 2).sum((1, 2)) * (signs[1] ** 2).sum((1, 2)))
    tau: np.ndarray = np.divide(pairs, norm, out=np.full(len(first), np.nan), where=norm > 0)
    return tau

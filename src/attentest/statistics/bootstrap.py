"""Bootstrap intervals of means, paired differences and functions of sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from attentest.statistics.intervals import Interval

__all__ = [
    "bootstrap_mean",
    "bootstrap_of_sums",
    "bootstrap_paired_difference",
    "draws",
    "resampled_means",
]

KEPT = 1 << 23  # numbers of draws that are kept for the next sample of the same size, ready for a product
COUNTED = 1 << 27  # … that are kept as counts, a byte each, to be made ready some resamples at a time
VALUES_AT_ONCE = 1 << 20  # values resampled at once, so that memory does not grow with resamples × values


def bootstrap_mean(values: ArrayLike, *, seed: int = 0, resamples: int = 2000, level: float = 0.95) -> Interval:
    """The mean and its percentile bootstrap interval (Efron 1979).

    Of no values everything is NaN; of one value the interval is, because resampling cannot tell its spread.
    NaN among the values makes everything NaN: leave undefined instances out, and count them, beforehand.
    """
    sample = np.asarray(values, dtype=np.float64).ravel()
    return bootstrap_of_sums(
        sample[:, None], lambda sums: sums[..., 0] / len(sample), seed=seed, resamples=resamples, level=level
    )


def resampled_means(values: np.ndarray, *, seed: int = 0, resamples: int = 2000) -> np.ndarray:
    """The means of every column over instances drawn with replacement, [resample, column]: the same draws for all."""
    drawn = [counts @ values for counts in _resamplings(len(values), seed, resamples)]
    return np.asarray(np.concatenate(drawn) / len(values))


def bootstrap_of_sums(
    values: np.ndarray,
    statistic: Callable[[np.ndarray], np.ndarray],
    *,
    seed: int = 0,
    resamples: int = 2000,
    level: float = 0.95,
) -> Interval:
    """A statistic of the columns' sums, such as their ratio, and its percentile bootstrap interval.

    ``statistic`` takes sums [..., column]; a resample for which it is not a number is left out.
    """
    size = len(values)
    if size == 0:
        return Interval(math.nan, math.nan, math.nan)
    value = float(statistic(values.sum(0)))
    if size == 1 or math.isnan(value):
        return Interval(value, math.nan, math.nan)
    drawn = statistic(resampled_means(values, seed=seed, resamples=resamples) * size)
    low, high = np.nanquantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high))


def _resamplings(size: int, seed: int, resamples: int) -> Iterable[np.ndarray]:
    """How often each value is drawn in each resample, some resamples at a time; kept when that is little."""
    if size * resamples <= KEPT:
        return (_kept(size, seed, resamples),)
    if size * resamples <= COUNTED:
        return (counts.astype(np.float64) for counts in _counted(size, seed, resamples))
    return _drawn(size, seed, resamples)


@lru_cache(maxsize=2)
def _kept(size: int, seed: int, resamples: int) -> np.ndarray:
    return np.concatenate(list(_drawn(size, seed, resamples)))


@lru_cache(maxsize=1)
def _counted(size: int, seed: int, resamples: int) -> tuple[np.ndarray, ...]:
    return tuple(counts.astype(np.min_scalar_type(counts.max())) for counts in _some(size, seed, resamples))


def _drawn(size: int, seed: int, resamples: int) -> Iterator[np.ndarray]:
    return (counts.astype(np.float64) for counts in _some(size, seed, resamples))


def _some(size: int, seed: int, resamples: int) -> Iterator[np.ndarray]:
    return draws(size, resamples, np.random.default_rng(seed), max(1, VALUES_AT_ONCE // size))


def draws(size: int, resamples: int, generator: np.random.Generator, most: int) -> Iterator[np.ndarray]:
    """How often each of ``size`` values is drawn in each resample, at most so many resamples at a time."""
    for start in range(0, resamples, most):
        rows = min(most, resamples - start)
        drawn = generator.integers(size, size=(rows, size)) + size * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * size).reshape(rows, size)


def bootstrap_paired_difference(
    a: ArrayLike, b: ArrayLike, *, seed: int = 0, resamples: int = 2000, level: float = 0.95
) -> Interval:
    """The mean of a − b over the same instances, and its percentile bootstrap interval."""
    first, second = np.asarray(a, dtype=np.float64).ravel(), np.asarray(b, dtype=np.float64).ravel()
    if len(first) != len(second):
        raise ValueError(
            f"{len(first)} values are paired with {len(second)}: give both samples for the same instances."
        )
    return bootstrap_mean(first - second, seed=seed, resamples=resamples, level=level)

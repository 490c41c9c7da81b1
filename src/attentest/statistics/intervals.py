"""An estimate with its interval, and the intervals that have a formula."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

__all__ = ["Interval", "piled", "student", "wilson", "wilson_of_mean"]

#: Values lie at an end of their scale when no more than this share of it away.
NEAR = 0.01
#: What a spread is taken to be before it is seen: that of yes and no, with the weight of so many values.
PRIOR = 4.0


class Interval(NamedTuple):
    """An estimate and its confidence interval."""

    value: float
    low: float
    high: float


def student(freedom: int) -> float:
    """The 97.5 % quantile of Student's t."""
    return float(stdtrit(freedom, 0.975))


def wilson(successes: int | float, n: int | float, level: float = 0.95) -> Interval:
    """A proportion and its score interval (Wilson 1927); of no trials everything is NaN.

    Numbers need not be whole: trials that depend on each other count as fewer.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} trials: successes lie between 0 and the number of trials.")
    if n == 0:
        return Interval(math.nan, math.nan, math.nan)
    z = float(ndtri((1 + level) / 2))
    share, shrink = successes / n, 1 + z * z / n
    centre = (share + z * z / (2 * n)) / shrink
    reach = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / shrink
    return Interval(share, max(0.0, min(share, centre - reach)), min(1.0, max(share, centre + reach)))


def piled(values: np.ndarray) -> tuple[float, float] | None:
    """The ends of the scale, where at least half of the values lie at one of them; None where they do not.

    Only scales from 0, or −1, to 1 can be told by their values: shares, scores between chance and the best,
    correlations. All zeros are the lower end of one from 0 to 1.
    """
    if not len(values) or not bool((np.abs(values) <= 1 + 1e-9).all()):
        return None
    low = -1.0 if values.min() < -NEAR else 0.0
    at_end = max(float((values <= low + NEAR).mean()), float((values >= 1 - NEAR).mean()))
    return (low, 1.0) if at_end >= 0.5 else None


def wilson_of_mean(values: np.ndarray, low: float, high: float) -> Interval:
    """The mean of values between two bounds, with Wilson's interval of as many trials as would vary as little.

    Resampling cannot tell what it has not seen: of 30 values, one in 20 of which is lower than the others, more than a
    fifth of all samples have none, and their bootstrap interval is a point. A mean at m varies no more than yes and no
    do with a share of m, which bounds what was not seen.
    """
    size, mean = len(values), float(np.mean(values))
    share = min(1.0, max(0.0, (mean - low) / (high - low)))
    most = share * (1 - share)
    varies = float(np.var(values, ddof=1)) / (high - low) ** 2 / most if size > 1 and most > 0 else 1.0
    trials = size / min(1.0, (varies * size + PRIOR) / (size + PRIOR))
    _, least, largest = wilson(share * trials, trials)
    return Interval(mean, low + (high - low) * least, low + (high - low) * largest)

"""An estimate with its interval, and the intervals that have a formula."""

from __future__ import annotations

import math
from typing import NamedTuple

from scipy.special import ndtri, stdtrit

__all__ = ["Interval", "student", "wilson"]


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

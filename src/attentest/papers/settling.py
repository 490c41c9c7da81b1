"""What settles a claim: the whole interval lies on one side, or it is unsettled. And how much would agree by chance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from attentest.papers.rules import Sense
from attentest.statistics.intervals import Interval

__all__ = ["STATUSES", "WAYS", "Chance", "Status", "Way", "by_chance", "of_direction", "of_figure"]

Status = Literal["agrees", "differs", "unsettled", "not run", "unavailable"]
STATUSES: tuple[Status, ...] = ("agrees", "differs", "unsettled", "not run", "unavailable")
#: How an interval is made: none, seeds and texts drawn again, or that and Student's t over seeds, whichever is wider.
Way = Literal["", "bootstrap", "wider"]
WAYS: tuple[Way, ...] = ("", "bootstrap", "wider")
#: Figures are printed in decimals: a difference of exactly the tolerance must not fail by rounding.
ROUNDING = 1e-9


def of_figure(published: float, tolerance: float, ours: Interval) -> Status:
    """Agrees when the whole interval lies within the tolerance, differs when none of it does; a count has no ends."""
    if math.isnan(ours.low) or math.isnan(ours.high):
        return "agrees" if abs(ours.value - published) <= tolerance + ROUNDING else "differs"
    low, high, allowed = ours.low - published, ours.high - published, tolerance + ROUNDING
    if -allowed <= low and high <= allowed:
        return "agrees"
    return "differs" if low > allowed or high < -allowed else "unsettled"


def of_direction(gap: Interval, sense: Sense, margin: float) -> Status:
    """On which side of the conclusion the whole interval lies."""
    low, high = (-gap.high, -gap.low) if sense == "lower" else (gap.low, gap.high)
    if math.isnan(low) or math.isnan(high):
        return "unsettled"
    if sense == "near":
        if -margin <= low and high <= margin:
            return "agrees"
        return "differs" if low > margin or high < -margin else "unsettled"
    if low > 0:
        return "agrees"
    return "differs" if high < 0 else "unsettled"


@dataclass(frozen=True)
class Chance:
    """What a rate is worth: the shares that would agree with other published values."""

    #: With the published values of each measure dealt out anew, in the mean over all ways to deal them.
    shuffled: float
    #: With one value for all figures of a measure, the one that most of ours agree with.
    constant: float

    def __str__(self) -> str:
        return (
            f"{self.shuffled:.0%} would agree with published values shuffled within their measure, "
            f"{self.constant:.0%} with the best single value for each measure"
        ).replace("%", " %")


def by_chance(measures: Iterable[Sequence[tuple[float, float, Interval]]]) -> Chance | None:
    """Of the figures of each measure, each with what is published, its tolerance, and ours; none if there are none."""
    count, shuffled, constant = 0, 0.0, 0
    for figures in measures:
        count += len(figures)
        agree = sum(
            of_figure(published, tolerance, ours) == "agrees"
            for published, _, _ in figures
            for _, tolerance, ours in figures
        )
        shuffled += agree / len(figures)
        constant += _most([_agreeing(tolerance, ours) for _, tolerance, ours in figures])
    return Chance(shuffled / count, constant / count) if count else None


def _agreeing(tolerance: float, ours: Interval) -> tuple[float, float]:
    """The published values that ours would agree with: none where the first is the larger."""
    low = ours.value if math.isnan(ours.low) else ours.low
    high = ours.value if math.isnan(ours.high) else ours.high
    return high - tolerance - ROUNDING, low + tolerance + ROUNDING


def _most(ranges: Sequence[tuple[float, float]]) -> int:
    """In how many of these ranges one number can lie."""
    starts = [start for start, end in ranges if start <= end]
    return max((sum(start <= at <= end for start, end in ranges) for at in starts), default=0)

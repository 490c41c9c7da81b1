"""Figures of several seeds: their mean with Student's interval, sums of such means, and shares of a loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attentest.statistics.intervals import Interval, student

__all__ = ["OverSeeds", "Share", "half_width", "wider"]

#: With fewer seeds a figure is shown without an interval over seeds.
FEWEST = 3


def half_width(parts: Sequence[tuple[float, Sequence[float]]]) -> float:
    """Half the 95 % interval of a sum of means over seeds, each with its factor, none paired with another.

    Degrees of freedom are Welch's, rounded down; not a number where a part has fewer than two seeds.
    """
    if any(len(figures) < 2 for _, figures in parts):
        return math.nan
    each = [factor**2 * float(np.var(figures, ddof=1)) / len(figures) for factor, figures in parts]
    below = sum(v**2 / (len(figures) - 1) for v, (_, figures) in zip(each, parts, strict=True))
    if not below > 0:
        return 0.0 if below == 0 else math.nan
    # A whole number of them must not be lost to rounding.
    return student(max(1, math.floor(sum(each) ** 2 / below + 1e-9))) * math.sqrt(sum(each))


def wider(drawn: Interval, parts: Sequence[tuple[float, Sequence[float]]]) -> Interval:
    """The interval of seeds and texts drawn again, no narrower than Student's t over the same seeds.

    From a few seeds, drawing them again comes out too narrow. With one seed, or one without a figure, it stays.
    """
    half = half_width(parts)
    if math.isnan(half):
        return drawn
    ends = float(np.minimum(drawn.low, drawn.value - half)), float(np.maximum(drawn.high, drawn.value + half))
    return Interval(drawn.value, *ends)


@dataclass(frozen=True)
class OverSeeds:
    """A figure of every seed; its mean has a 95 % interval by Student's t."""

    seeds: tuple[int, ...]
    figures: tuple[float, ...]
    run_ids: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The mean over seeds."""
        return float(np.mean(self.figures))

    @property
    def half(self) -> float:
        """Half the width of the interval; not a number with fewer than three seeds."""
        return self.half_with(len(self.figures))

    def half_with(self, count: int) -> float:
        """The same with the degrees of freedom of so many seeds."""
        if count < FEWEST:
            return math.nan
        return student(count - 1) * float(np.std(self.figures, ddof=1)) / math.sqrt(len(self.figures))

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.value - self.half

    @property
    def high(self) -> float:
        """Its upper end."""
        return self.value + self.half

    def above(self, chance: float, scores: OverSeeds) -> OverSeeds:
        """The figures as shares of what these scores are above chance; not a number for a seed that is not above it."""
        pairs = [
            (seed, figure, scores.figures[scores.seeds.index(seed)] - chance)
            for seed, figure in zip(self.seeds, self.figures, strict=True)
            if seed in scores.seeds
        ]
        shares = (figure / known if known > 0 else math.nan for _, figure, known in pairs)
        return OverSeeds(tuple(seed for seed, *_ in pairs), tuple(shares), self.run_ids)


@dataclass(frozen=True)
class Share:
    """How much of a loss a control does away with, by Fieller's interval for the ratio of two means.

    Models of the two sides share nothing but the number of their seed, so seeds are not paired.
    """

    own: OverSeeds
    control: OverSeeds

    @property
    def lost(self) -> bool:
        """Whether there is a loss at all: the whole interval of the paper's model lies below zero."""
        return self.own.high < 0 and math.isfinite(self.control.value)

    @property
    def value(self) -> float:
        """One less the ratio of the two losses."""
        return 1 - self.control.value / self.own.value

    @property
    def low(self) -> float:
        """The lower end of its 95 % interval."""
        return 1 - max(self._ends)

    @property
    def high(self) -> float:
        """Its upper end."""
        return 1 - min(self._ends)

    @property
    def _ends(self) -> tuple[float, float]:
        """The ends for the ratio; with the fewer degrees of freedom of the two, which errs on the wide side."""
        if not self.lost:
            return math.nan, math.nan
        fewer = min(len(self.own.figures), len(self.control.figures))
        own, control = (one.half_with(fewer) for one in (self.own, self.control))
        ratio, spread = self.control.value / self.own.value, (own / self.own.value) ** 2
        if not spread < 1:
            return -math.inf, math.inf
        within = control**2 * (1 - spread) + (ratio * own) ** 2
        half = math.sqrt(within) / abs(self.own.value)
        return (ratio - half) / (1 - spread), (ratio + half) / (1 - spread)

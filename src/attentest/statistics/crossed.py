"""Answers of people to items: both are drawn again, so that an interval says what other people and items might give.

People and items are crossed, so each is drawn by itself and an answer is taken as often as its person and its item are
together (Owen 2007, the pigeonhole bootstrap). Its intervals are a little too wide rather than too narrow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from attentest.statistics.intervals import Interval, wilson

__all__ = ["Components", "Crossed", "components"]

RESAMPLES = 2000


class Crossed:
    """How often every person and every item is drawn; items are drawn within their strata."""

    def __init__(self, people: int, strata: np.ndarray, *, seed: int = 0, resamples: int = RESAMPLES) -> None:
        generator = np.random.default_rng(seed)
        chances = np.full(people, 1 / people) if people else np.zeros(0)
        self.people = generator.multinomial(people, chances, size=resamples).astype(np.float64)
        self.strata = np.asarray(strata)
        self.items = np.zeros((resamples, len(self.strata)))
        for stratum in np.unique(self.strata):
            own = np.flatnonzero(self.strata == stratum)
            self.items[:, own] = generator.multinomial(len(own), np.full(len(own), 1 / len(own)), size=resamples)

    def share(self, hits: np.ndarray, seen: np.ndarray) -> Interval:
        """The share of hits among what was seen, both [person, item], with its interval.

        Where all answers are alike resampling sees no spread, so the interval is at least Wilson's for as many items.
        """
        total = float(seen.sum())
        if not total:
            return Interval(math.nan, math.nan, math.nan)
        value = float((hits * seen).sum()) / total
        items = int((seen.sum(0) > 0).sum())
        least = wilson(value * items, items)
        drawn = self._drawn(hits, seen)
        low, high = (float(end) for end in np.nanquantile(drawn, [0.025, 0.975]))
        return Interval(value, min(low, least.low), max(high, least.high))

    def difference(self, left: tuple[np.ndarray, np.ndarray], right: tuple[np.ndarray, np.ndarray]) -> Interval:
        """One share less another, each (hits, seen), by the same draws.

        It is at least as wide as the interval of two independent shares of as many items (Newcombe 1998).
        """
        shares = []
        for hits, seen in (left, right):
            if not seen.sum():
                return Interval(math.nan, math.nan, math.nan)
            items = int((seen.sum(0) > 0).sum())
            shares.append(wilson(float((hits * seen).sum() / seen.sum()) * items, items))
        a, b = shares
        value = a.value - b.value
        low, high = (float(e) for e in np.nanquantile(self._drawn(*left) - self._drawn(*right), [0.025, 0.975]))
        least = value - math.hypot(a.value - a.low, b.high - b.value)
        most = value + math.hypot(a.high - a.value, b.value - b.low)
        return Interval(value, min(low, least), max(high, most))

    def _drawn(self, hits: np.ndarray, seen: np.ndarray) -> np.ndarray:
        above = ((self.people @ (hits * seen)) * self.items).sum(1)
        below = ((self.people @ seen.astype(np.float64)) * self.items).sum(1)
        share: np.ndarray = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
        return share


@dataclass(frozen=True)
class Components:
    """What answers to yes-no questions vary by, as shares of their whole variance: items, people, the rest."""

    share: float
    items: float
    people: float

    def variance(self, people: int, items: int, overlap: int | None = None) -> float:
        """The variance of the share, when so many people answer so many items.

        All of them the same, or the first ``overlap`` the same and every other one by one of them. It is p(1 − p) times
        a·Σm²/N² + b/P + (1 − a − b)/N, where m are the answers to an item, N all of them, a the share of the variance
        between items and b between people.
        """
        shared = items if overlap is None else min(overlap, items)
        answers = shared * people + items - shared
        between = (shared * people**2 + items - shared) / answers**2
        rest = max(0.0, 1 - self.items - self.people)
        return self.share * (1 - self.share) * (self.items * between + self.people / people + rest / answers)


def components(hits: np.ndarray, seen: np.ndarray) -> Components:
    """Variance components of answers [person, item], by the moments of their pairs; shares below 0 are 0.

    The covariance of two answers to one item is that of items, of two answers of one person that of people; those of
    other people to other items are independent.
    """
    total = float(seen.sum())
    share = float((hits * seen).sum() / total) if total else math.nan
    whole = share * (1 - share)
    if not total or whole <= 0:
        return Components(share, 0.0, 0.0)
    residual = np.where(seen, hits - share, 0.0)

    def together(axis: int) -> float:
        sums, counts, squares = residual.sum(axis), seen.sum(axis), (residual**2).sum(axis)
        pairs = float((counts * (counts - 1)).sum())
        return float((sums**2 - squares).sum()) / pairs if pairs else 0.0

    items, people = (min(1.0, max(0.0, together(axis) / whole)) for axis in (0, 1))
    scale = max(1.0, items + people)
    return Components(share, items / scale, people / scale)

"""How long an examination takes, by what its batches took so far: long texts take more than their share."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import nnls

from attentest.durations import in_words

__all__ = ["Forecast", "Pace"]

#: The powers of a text's length that its time may grow by, and the one that is supposed where batches do not tell:
#: between words that are read once and words that are each deleted from all.
POWERS = np.linspace(1, 3, 21)
USUAL, SURE = 1.5, 0.01
#: The pace is told by at most so many batches, from all over the examination.
MOST = 64
#: Seconds between two times that the time left is computed anew.
AGAIN = 1.0
#: How many of the most expensive challenges are named, and from which share of the time on.
NAMED, WORTH = 3, 0.15


@dataclass(frozen=True)
class Pace:
    """The seconds of one thread that a batch takes: fixed + wide · w^power + scale · Σ n^power.

    n is the length of each of its rows and w that of the longest: what is done position by position costs something
    however many rows there are.
    """

    fixed: float
    wide: float
    scale: float
    power: float

    @classmethod
    def of(cls, sizes: Sequence[np.ndarray], seconds: Sequence[float]) -> Pace:
        """The pace of batches, given by the sizes of their rows and the seconds they took.

        It is the one that errs least, in shares of what each took, long ones weighing more; nothing is below zero.
        """
        took = np.maximum(np.asarray(seconds, dtype=float), 1e-6)
        widest, weights = np.array([rows.max() for rows in sizes]), np.sqrt(took / took.sum())
        # Where batches do not tell, the cost is the rows'.
        held = 1e-4 * np.linalg.norm(weights / took) * np.eye(2, 3)
        best, found = np.inf, cls(0.0, 0.0, 0.0, USUAL)
        for power in POWERS:
            amounts = np.array([np.power(rows, power).sum() for rows in sizes])
            parts = np.stack([np.ones(len(took)), np.power(widest, power), amounts], axis=1)
            # Scaled, so that sums of very different sizes are told apart.
            most = parts.max(0)
            shares = parts / most * (weights / took)[:, None]
            (fixed, wide, scale), error = nnls(np.vstack([shares, held]), np.append(weights, [0.0, 0.0]))
            if (error := error**2 + SURE * (power - USUAL) ** 2) < best:
                best, found = error, cls(fixed / most[0], wide / most[1], scale / most[2], float(power))
        return found

    def each(self, sizes: np.ndarray, rows: np.ndarray, positions: float) -> np.ndarray:
        """What texts of these sizes take that make so many rows, in batches of so many positions, each its part."""
        together = np.clip(positions / (sizes * rows), 1.0, len(sizes))
        powers = np.power(sizes, self.power)
        seconds: np.ndarray = (self.fixed + self.wide * powers) / together + self.scale * powers * rows
        return seconds


@dataclass
class Forecast:
    """What is left of an examination, told anew after every batch."""

    #: The size of every text, how many rows it makes, and how many positions make a batch.
    sizes: np.ndarray
    rows: np.ndarray
    positions: float
    workers: int
    #: How many batches are done, and how many seconds they took.
    batches: int = 0
    took: float = 0.0
    _left: np.ndarray = field(init=False)
    #: When the time left was last computed, and what it was.
    _told: tuple[float, float] = (-AGAIN, 0.0)
    seen: list[tuple[np.ndarray, Mapping[str, float]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._left = np.ones(len(self.sizes), dtype=bool)

    def skip(self, texts: np.ndarray) -> None:
        """These texts were examined before."""
        self._left[texts] = False

    def observe(self, texts: np.ndarray, seconds: Mapping[str, float]) -> None:
        """A batch of these texts took so many seconds, challenge by challenge, and was for nothing."""
        self.seen.append((np.repeat(self.sizes[texts], self.rows[texts]), seconds))
        if len(self.seen) > MOST:
            self.seen = self.seen[::2]

    def add(self, texts: np.ndarray, seconds: Mapping[str, float]) -> None:
        """A batch of these texts is done, and took so many seconds."""
        self.observe(texts, seconds)
        self._left[texts] = False
        self.batches += 1
        self.took += sum(seconds.values())

    def pace(self, without: Mapping[str, object] | None = None) -> Pace:
        """By the batches so far, without the challenges that are no longer put."""
        took = [sum(s for name, s in each.items() if name not in (without or {})) for _, each in self.seen]
        return Pace.of([rows for rows, _ in self.seen], took)

    def left(self, elapsed: float = 0.0, without: Mapping[str, object] | None = None) -> float:
        """Seconds that the texts not examined yet will take; all workers were at work for the seconds elapsed."""
        foretold = float(self.pace(without).each(self.sizes, self.rows, self.positions)[self._left].sum())
        begun = max(0.0, elapsed * self.workers - self.took)
        # What was begun is no more than most of what is left: a batch that takes longer than foretold is not over.
        return max(foretold / 10, foretold - begun) / self.workers

    def told(self, elapsed: float, without: Mapping[str, object] | None = None) -> float:
        """The same for whoever asks after every batch: computed anew at most once a second."""
        if elapsed - self._told[0] >= AGAIN:
            self._told = elapsed, self.left(elapsed, without)
        return max(0.0, self._told[1] - (elapsed - self._told[0]))

    def line(self, elapsed: float = 0.0, called: Mapping[str, str] | None = None) -> str:
        """How long it will take, and which challenges, by what they are ``called``, take most of it, in words."""
        total: Counter[str] = Counter()
        for _, seconds in self.seen:
            total.update(seconds)
        whole = sum(total.values())
        most = [
            f"{(called or {}).get(name, name)} {s / whole:.0%}"
            for name, s in total.most_common(NAMED)
            if name and s >= WORTH * whole
        ]
        texts = int(self._left.sum())
        left = self.left(elapsed)
        said = f"Examining {texts:,} more texts will take about {in_words(left)}"
        named = f", of which {', '.join(most)}" if most else ""
        half = f"{math.ceil(left / 120)}m" if left > 120 else f"{math.ceil(left / 2)}s"
        return f"{said}{named}. Faster: --time {half} (fewer texts), or name the challenges you need (--challenge)."

"""How long an examination takes, by what its batches took so far: long texts take more than their share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from attentest.durations import in_words

__all__ = ["Forecast", "Pace"]

#: The powers of a text's length that its time may grow by, and the one that is supposed where batches do not tell:
#: between words that are read once and words that are each deleted from all.
POWERS = np.linspace(1, 3, 21)
USUAL, SURE = 1.5, 0.01
#: How many of the most expensive challenges are named, and from which share of the time on.
NAMED, WORTH = 3, 0.15


@dataclass(frozen=True)
class Pace:
    """A text of n words takes scale · n^power seconds of one thread."""

    scale: float
    power: float

    @classmethod
    def of(cls, sizes: Sequence[np.ndarray], seconds: Sequence[float]) -> Pace:
        """The pace of batches, given by the sizes of their rows and the seconds they took.

        The power is the one under which seconds for size vary least between batches; the scale keeps their total.
        """
        took = np.maximum(np.asarray(seconds, dtype=float), 1e-6)
        amounts = np.array([[np.power(rows, power).sum() for rows in sizes] for power in POWERS])
        rates, weights = np.log(took / amounts), took / took.sum()
        spread = (weights * (rates - (rates @ weights)[:, None]) ** 2).sum(1)
        best = int(np.argmin(spread + SURE * (POWERS - USUAL) ** 2))
        return cls(float(took.sum() / amounts[best].sum()), float(POWERS[best]))

    def seconds(self, sizes: np.ndarray) -> np.ndarray:
        """What rows of these sizes take, each."""
        seconds: np.ndarray = self.scale * np.power(sizes, self.power)
        return seconds


@dataclass
class Forecast:
    """What is left of an examination, told anew after every batch."""

    #: The size of every text, and how many rows it makes.
    sizes: np.ndarray
    rows: np.ndarray
    workers: int
    _left: np.ndarray = field(init=False)
    _batches: list[tuple[np.ndarray, Mapping[str, float]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._left = np.ones(len(self.sizes), dtype=bool)

    def skip(self, texts: np.ndarray) -> None:
        """These texts were examined before."""
        self._left[texts] = False

    def add(self, texts: np.ndarray, seconds: Mapping[str, float]) -> None:
        """A batch of these texts took so many seconds, challenge by challenge."""
        self._left[texts] = False
        self._batches.append((np.repeat(self.sizes[texts], self.rows[texts]), seconds))

    @property
    def batches(self) -> int:
        """How many batches it stands on."""
        return len(self._batches)

    def pace(self, without: Mapping[str, object] | None = None) -> Pace:
        """By all batches so far, without the challenges that are no longer put."""
        took = [sum(s for name, s in each.items() if name not in (without or {})) for _, each in self._batches]
        return Pace.of([rows for rows, _ in self._batches], took)

    def left(self, without: Mapping[str, object] | None = None) -> float:
        """Seconds that the texts not examined yet will take."""
        return float((self.pace(without).seconds(self.sizes) * self.rows)[self._left].sum()) / self.workers

    def line(self) -> str:
        """How long it will take, and which challenges take most of it, in words."""
        total: Counter[str] = Counter()
        for _, seconds in self._batches:
            total.update(seconds)
        whole = sum(total.values())
        most = [f"{name} {s / whole:.0%}" for name, s in total.most_common(NAMED) if name and s >= WORTH * whole]
        texts = int(self._left.sum())
        said = f"Examining {texts:,} more texts will take about {in_words(self.left())}"
        named = f", of which {', '.join(most)}" if most else ""
        return f"{said}{named}. Faster: --time 5m (fewer texts), or name the challenges you need (--challenge)."

"""What each unit of a text did to a prediction: Shapley values by intervention.

The worth of a set of units is what a model is expected to say when these stay and the world draws the others anew. It
owes nothing to deletion, gradients or attention. All sets are tried where units are few; otherwise units are put back
in random orders, each order also backwards, and the spread over orders gives the error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import factorial, prod

import numpy as np

__all__ = ["Drawn", "UnitValues", "Worth", "all_sets_values", "exact_values", "sampled_values"]

#: What a text is worth to a model, for every choice of options: [row, unit] → [row].
Worth = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Drawn:
    """How options are drawn: how many each unit has, and which units take the same one."""

    counts: np.ndarray
    joint: np.ndarray | None = None

    def __call__(self, size: int, random: np.random.Generator) -> np.ndarray:
        """So many draws of all units: [draw, unit]."""
        return self._together(random.integers(0, self.counts, size=(size, len(self.counts))))

    def evenly(self, size: int, random: np.random.Generator) -> np.ndarray:
        """So many draws, those of each unit spread evenly over its options, in random order."""
        spread = (np.arange(size)[:, None] + random.random((size, len(self.counts)))) / size
        return self._together((random.permuted(spread, axis=0) * self.counts).astype(int))

    def _together(self, drawn: np.ndarray) -> np.ndarray:
        if self.joint is not None and self.joint.any():
            drawn[:, self.joint] = drawn[:, self.joint][:, :1]
        return drawn


@dataclass(frozen=True)
class UnitValues:
    """Every group's Shapley value, and its standard error (zero where all sets were tried)."""

    values: np.ndarray
    errors: np.ndarray

    @property
    def mass(self) -> np.ndarray:
        """How much each mattered, for or against."""
        mass: np.ndarray = np.abs(self.values)
        return mass


def sampled_values(
    worth: Worth,
    own: np.ndarray,
    drawn: Drawn,
    groups: list[list[int]],
    *,
    orders: int,
    random: np.random.Generator,
) -> UnitValues:
    """The value of each group of units over so many random orders; the units' own options, and how others are drawn."""
    size, units = len(groups), len(own)
    member = np.zeros((size, units), dtype=bool)
    for number, group in enumerate(groups):
        member[number, group] = True
    half = -(-orders // 2)
    order = random.permuted(np.tile(np.arange(size), (half, 1)), axis=1)
    order = np.stack([order, order[:, ::-1]], axis=1)  # each also backwards, from the same beginning
    background = drawn.evenly(half, random)
    # present[h, way, j, g]: whether group g has been put back after j steps
    place = np.argsort(order, axis=-1)
    present = place[:, :, None, :] < np.arange(size + 1)[None, None, :, None]
    kept = present @ member
    choices = np.where(kept, own, background[:, None, None, :])
    worths = worth(choices.reshape(-1, units)).reshape(half, 2, size + 1)
    gains = np.diff(worths, axis=-1)
    by_group = np.take_along_axis(gains, place, axis=-1).mean(1)
    return UnitValues(by_group.mean(0), by_group.std(0, ddof=1) / np.sqrt(half) if half > 1 else np.full(size, np.inf))


def all_sets_values(
    worth: Worth,
    own: np.ndarray,
    drawn: Drawn,
    groups: list[list[int]],
    *,
    draws: int,
    random: np.random.Generator,
) -> UnitValues:
    """The value of each group over all sets of groups, each with the same draws of what is not in it."""
    size, units = len(groups), len(own)
    member = np.zeros((size, units), dtype=bool)
    for number, group in enumerate(groups):
        member[number, group] = True
    sets = np.arange(2**size)
    present = (sets[:, None] >> np.arange(size)) & 1 == 1
    background = drawn.evenly(draws, random)
    choices = np.where((present @ member)[:, None], own, background)
    worths = worth(choices.reshape(-1, units)).reshape(len(sets), draws)
    sizes = present.sum(1)
    values = np.zeros((size, draws))
    for number in range(size):
        without = sets[~present[:, number]]
        share = np.array([factorial(n) * factorial(size - n - 1) / factorial(size) for n in sizes[without]])
        values[number] = share @ (worths[without | 1 << number] - worths[without])
    errors = values.std(1, ddof=1) / np.sqrt(draws) if draws > 1 else np.full(size, np.inf)
    return UnitValues(values.mean(1), errors)


def exact_values(worth: Worth, own: np.ndarray, counts: np.ndarray, units: list[int]) -> UnitValues:
    """The value of each of these units, by all sets and all options; the other units stay as they are."""
    size = len(units)
    combinations = prod(int(counts[unit]) for unit in units)
    if size > 10 or combinations > 2**16:
        raise ValueError(f"{size} units with {combinations} choices are too many to try them all.")
    options = np.array(list(product(*(range(counts[unit]) for unit in units))))
    choices = np.tile(own, (combinations, 1))
    choices[:, units] = options
    said = worth(choices)
    same = options == own[units]
    worths = np.array([said[same[:, list(kept)].all(1)].mean() for kept in _subsets(size)])
    values = np.zeros(size)
    for number, kept in enumerate(_subsets(size)):
        for unit in set(range(size)) - set(kept):
            after = number | (1 << unit)
            share = factorial(len(kept)) * factorial(size - len(kept) - 1) / factorial(size)
            values[unit] += share * (worths[after] - worths[number])
    return UnitValues(values, np.zeros(size))


def _subsets(size: int) -> list[tuple[int, ...]]:
    """All subsets, each at the place that its bits say."""
    return [tuple(unit for unit in range(size) if number >> unit & 1) for number in range(2**size)]

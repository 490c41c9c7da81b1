"""How often which answer was given: under every condition, and as in Figure 5 by whether the prediction is correct."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from attentest.people.design import Requirement
from attentest.people.results.answered import Answered
from attentest.statistics.crossed import Crossed
from attentest.statistics.intervals import Interval

__all__ = ["Cell", "Met", "Share", "met", "shares", "table"]


@dataclass(frozen=True)
class Share:
    """The share of an outcome among the answers under a condition."""

    condition: str
    outcome: str
    answers: int
    items: int
    share: Interval


@dataclass(frozen=True)
class Cell:
    """A cell of Figure 5: the share, of all answers under a condition, with this prediction and this outcome."""

    condition: str
    correct: bool
    outcome: str
    answers: int
    share: Interval


@dataclass(frozen=True)
class Met:
    """What must be seen, and what is: the share less what it must exceed."""

    requirement: Requirement
    share: Interval
    #: What it must exceed: a level, or the share under another condition.
    against: float
    difference: Interval

    @property
    def answer(self) -> str:
        """Whether the whole interval lies above, below, or on both sides."""
        if math.isnan(self.difference.low):
            return "cannot say"
        return "yes" if self.difference.low > 0 else "no" if self.difference.high < 0 else "cannot say"


def _crossed(found: Answered, seed: int) -> Crossed:
    return Crossed(len(found.people), found.conditions, seed=seed)


def shares(found: Answered, seed: int = 0) -> list[Share]:
    """Every outcome under every condition."""
    crossed, design = _crossed(found, seed), found.study.design
    made = []
    for condition in design.conditions:
        seen = found.seen & (found.conditions == condition)
        for outcome in design.outcomes:
            share = crossed.share(found.outcomes == outcome, seen)
            made.append(Share(condition, outcome, int(seen.sum()), int((seen.sum(0) > 0).sum()), share))
    return made


def table(found: Answered, seed: int = 0) -> list[Cell]:
    """The cells of Figure 5; none where the design does not tell correct predictions from wrong ones."""
    design = found.study.design
    if not design.by_correctness:
        return []
    crossed = _crossed(found, seed)
    made = []
    for condition in design.conditions:
        seen = found.seen & (found.conditions == condition)
        for correct in (True, False):
            for outcome in design.outcomes:
                hits = (found.outcomes == outcome) & (found.correct == correct)
                made.append(Cell(condition, correct, outcome, int((hits & seen).sum()), crossed.share(hits, seen)))
    return made


def met(found: Answered, requirement: Requirement, seed: int = 0) -> Met:
    """Whether a requirement is met."""
    crossed = _crossed(found, seed)

    def of(condition: str) -> tuple[np.ndarray, np.ndarray]:
        seen = found.seen & (found.conditions == condition)
        for outcome in requirement.without:
            seen = seen & (found.outcomes != outcome)
        return found.outcomes == requirement.outcome, seen

    share = crossed.share(*of(requirement.condition))
    if requirement.against:
        other = crossed.share(*of(requirement.against))
        difference = crossed.difference(of(requirement.condition), of(requirement.against))
        return Met(requirement, share, other.value, difference)
    level = float(requirement.level or 0.0)
    return Met(requirement, share, level, Interval(*(each - level for each in share)))

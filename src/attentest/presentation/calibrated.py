"""What calibration found: the marks that decide, how often answers were wrong, how well each test told apart.

``calibrated.json`` is written by ``attentest calibrate``. Models whose truth is known by intervention were audited; a
mark is where their answers part, and an error is how often models that the marks were not fitted on were misjudged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["Calibrated", "Share", "calibrated"]

FILE = Path(__file__).with_name("calibrated.json")


@dataclass(frozen=True)
class Share:
    """How many of how many, with an interval that is clustered by mechanism."""

    count: int
    of: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share."""
        return self.count / self.of if self.of else float("nan")


@dataclass(frozen=True)
class Calibrated:
    """The marks, the errors of each use by answer, every test's AUROC, and the range of what was calibrated."""

    #: For every use, and for single texts: at or below the first *no*, at or above the second *yes*.
    marks: Mapping[str, tuple[float, float]]
    #: By use and answer; of a default audit, and of a thorough one.
    errors: Mapping[str, Mapping[str, Any]]
    thorough: Mapping[str, Mapping[str, Any]]
    auroc: Mapping[str, Mapping[str, tuple[float, float, float]]]
    range: Mapping[str, tuple[float, float]]
    members: int
    mechanisms: int
    cells: int

    def wrong(self, use: str, answer: str, *, thorough: bool = False) -> Share | None:
        """How many models of known truth that got this answer got it wrongly; None where that was not measured."""
        found = (self.thorough if thorough else self.errors).get(use, {}).get(answer)
        return None if found is None else Share(*found)

    def told_apart(self, measure: str, truth: str) -> tuple[float, float, float] | None:
        """The AUROC of a measure alone: how well it tells faithful attention from misleading one."""
        if (found := self.auroc.get(measure, {}).get(truth)) is None:
            return None
        value, low, high = found
        return value, low, high


@cache
def calibrated() -> Calibrated:
    """What stands in the file."""
    return Calibrated(**json.loads(FILE.read_text()))

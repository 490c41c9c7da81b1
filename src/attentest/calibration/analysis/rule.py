"""The rule of the verdict: from intervals of what was measured to an answer, by two marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attentest.presentation.line import ANSWER_OF, Answer, Tone
from attentest.presentation.thresholds import agreed

__all__ = ["ANSWERS", "Answer", "Marks", "Tone", "answer_of", "tone_of"]

ANSWERS: tuple[Answer, ...] = ("yes", "with care", "cannot say", "no")


@dataclass(frozen=True)
class Marks:
    """At or below ``no`` a measure speaks against, at or above ``yes`` it supports."""

    no: float
    yes: float

    def __post_init__(self) -> None:
        if not self.no <= self.yes:
            raise ValueError(f"The mark of no ({self.no}) must not lie above that of yes ({self.yes}).")


def tone_of(low: float, high: float, marks: Marks) -> Tone:
    """What a 95 % interval says; one that is not a number, or that a mark cuts, leaves it unsettled."""
    if low >= marks.yes:
        return "supports"
    if high <= marks.no:
        return "against"
    return "mixed" if low > marks.no and high < marks.yes else "unsettled"


def answer_of(intervals: Sequence[tuple[float, float]], marks: Marks) -> Answer:
    """The answer that all measures give together, as the verdict gives it."""
    return ANSWER_OF.get(agreed([tone_of(low, high, marks) for low, high in intervals]), "cannot say")

"""The verdict: the challenges' findings read together, in plain words.

Three uses are kept apart, each with its own truth: to say which *words* mattered, to check from which *states* a model
takes what it says, and to give attention as the *one* reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attentest.presentation.calibrated import Share
from attentest.presentation.line import Line, Measured

__all__ = ["Goal", "Open", "Verdict"]


#: Why a goal cannot be answered: nothing was asked that would, it settled nothing, or it contradicts itself.
Open = Literal["", "not run", "not settled", "apart"]


@dataclass(frozen=True)
class Goal:
    """What someone wants to use attention for, who they are, and whether they may."""

    goal: str
    reader: str
    answer: Literal["yes", "with care", "no", "cannot say"]
    why: str
    #: Why it cannot be said, where it cannot.
    open: Open = ""
    #: The goal in a few words.
    short: str = ""
    #: What else is to be known, a sentence each.
    beside: tuple[str, ...] = ()
    #: The use by its key.
    key: str = ""
    #: How many models of known truth that got this answer got it wrongly; None where that is not known.
    wrong: Share | None = None

    @property
    def error(self) -> str:
        """The same in words, empty where it is not known."""
        if self.wrong is None or not self.wrong.of:
            return ""
        share, low, high = (100 * value for value in (self.wrong.value, self.wrong.low, self.wrong.high))
        return f"{share:.0f} % [{low:.0f}, {high:.0f}] of {self.wrong.of}"

    @property
    def known_by(self) -> str:
        """What the error is of, in a sentence, empty where it is not known."""
        if not self.error or self.wrong is None:
            return ""
        share = self.error.partition(" of ")[0]
        known = f"Of {self.wrong.of} clear models of known truth with this answer"
        return f"{known}, {self.wrong.count} got it wrongly: {share}."

    @property
    def words(self) -> str:
        """Why, and what else is to be known."""
        return " ".join((self.why, *self.beside))


@dataclass(frozen=True)
class Verdict:
    """A headline, a table of lines, what each goal may rely on, a closing paragraph, the limits, what is beside it."""

    headline: str
    lines: tuple[Line, ...]
    goals: tuple[Goal, ...]
    closing: str
    limits: tuple[str, ...]
    also: tuple[Measured, ...] = ()
    #: What to do next, a sentence each, the most urgent first.
    next_steps: tuple[str, ...] = ()
    #: Explainers whose own check failed: no line that rests on one counts.
    failed: tuple[str, ...] = ()
    #: How this run lies outside of what was calibrated, a sentence each: no error is known of its answers.
    outside: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        """The answers and what decides them, for notebooks; nothing in it can run."""
        from attentest.report.pages.card import card

        return card(self)

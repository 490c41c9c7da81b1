"""The verdict: the challenges' findings read together, in plain words.

Two questions are kept apart. Does attention rank the *states* that the output depends on? And does state t
still stand for *token* t? Attention can be read as a statement about the input only if both hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attentest.presentation.line import Line, Measured

__all__ = ["Goal", "Open", "Verdict"]


#: Why a goal cannot be answered: nothing was asked that would, what was asked settled nothing, or it does not count.
Open = Literal["", "not run", "not settled", "void"]


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

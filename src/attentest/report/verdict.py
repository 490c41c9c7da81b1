"""The verdict: the challenges' findings read together, in plain words.

Two questions are kept apart. Does attention rank the *states* that the output depends on? And does state t
still stand for *token* t? Attention can be read as a statement about the input only if both hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from attentest.store.summary import Estimate
from attentest.tasks import TASKS, Task, Wording

__all__ = ["Goal", "Line", "Measured", "Open", "Tone", "Verdict", "task_of", "wording_of"]

Tone = Literal["supports", "mixed", "against", "unsettled", "context"]
#: Why a goal cannot be answered: nothing was asked that would, or what was asked settled nothing.
Open = Literal["", "not run", "not settled"]


@dataclass(frozen=True)
class Line:
    """One question, its answer as a number, and what the number says in plain words."""

    key: str
    question: str
    result: str
    reading: str
    tone: Tone
    estimate: Estimate
    #: Which of the two questions it answers: about states, about tokens, or about the setting.
    about: Literal["states", "tokens", "setting"]
    #: Explainers other than attention that surely do more than a random order, where the line compares any.
    better: tuple[str, ...] = ()
    #: The findings it was read from.
    findings: str = ""
    #: Whether it cannot say because most of the attention was held.
    held: bool = False


@dataclass(frozen=True)
class Measured:
    """A number of a challenge that no line is read from."""

    challenge: str
    words: str
    estimate: Estimate
    #: How it is written: as a "fraction", a "mean" or one of the other statistics.
    form: str
    #: On how many texts it stands, of how many.
    judged: int
    texts: int


@dataclass(frozen=True)
class Goal:
    """What someone wants to use attention for, who they are, and whether they may."""

    goal: str
    reader: str
    answer: Literal["yes", "with care", "no", "cannot say"]
    why: str
    #: Why it cannot be said, where it cannot.
    open: Open = ""


@dataclass(frozen=True)
class Verdict:
    """A headline, a table of lines, what each goal may rely on, a closing paragraph, the limits, what is beside it."""

    headline: str
    lines: tuple[Line, ...]
    goals: tuple[Goal, ...]
    closing: str
    limits: tuple[str, ...]
    also: tuple[Measured, ...] = ()


def task_of(fields: Mapping[str, Any]) -> Task:
    """What was asked of the model, by a run's fields."""
    return TASKS[fields.get("corpus", {}).get("task", "single")]


def wording_of(fields: Mapping[str, Any]) -> Wording:
    """What to call what was judged and what its attention weighs, by a run's fields."""
    wording = task_of(fields).wording
    sentences = fields.get("model", {}).get("structure") == "hierarchical" and fields.get("site") != "word"
    return replace(wording, item="sentence", token="sentence") if sentences else wording

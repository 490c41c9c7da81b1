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

__all__ = [
    "Goal",
    "Line",
    "Measured",
    "Open",
    "Rival",
    "Settling",
    "Tone",
    "Verdict",
    "task_of",
    "wording_of",
]

#: What a line says for attention; "void" is one that rests on an explainer whose own check failed.
Tone = Literal["supports", "mixed", "against", "unsettled", "context", "void"]
#: Why a goal cannot be answered: nothing was asked that would, what was asked settled nothing, or it does not count.
Open = Literal["", "not run", "not settled", "void"]


@dataclass(frozen=True)
class Settling:
    """What would settle a line whose interval crosses a threshold, if its estimate stays."""

    #: The threshold that is hardest to get clear of; None where there are only too few.
    threshold: float | None
    #: About how many would have to be judged; None: more than a hundred times as many.
    judged: int | None


@dataclass(frozen=True)
class Rival:
    """The explainer that did best, where a line compares any: more than a random order, and not made of the test."""

    name: str
    estimate: Estimate
    attention: Estimate
    #: Whether it is significantly better than attention.
    ahead: bool


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
    #: The question in five words or fewer.
    short: str = ""
    #: How the estimate is written: as one of the statistics.
    form: str = "mean"
    #: The thresholds that its estimate is read by, and what chance alone would reach on that scale.
    scale: str = ""
    chance: float = 0.0
    #: What would settle it, where more texts would.
    settling: Settling | None = None
    #: Explainers other than attention that surely do more than a random order, the best first, where it compares any.
    better: tuple[str, ...] = ()
    rival: Rival | None = None
    #: The findings it was read from, and the explainers it rests on.
    findings: str = ""
    explainers: tuple[str, ...] = ()
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


def task_of(fields: Mapping[str, Any]) -> Task:
    """What was asked of the model, by a run's fields."""
    return TASKS[fields.get("corpus", {}).get("task", "single")]


def wording_of(fields: Mapping[str, Any]) -> Wording:
    """What to call what was judged and what its attention weighs, by a run's fields."""
    wording = task_of(fields).wording
    sentences = fields.get("model", {}).get("structure") == "hierarchical" and fields.get("site") != "word"
    return replace(wording, item="sentence", token="sentence") if sentences else wording

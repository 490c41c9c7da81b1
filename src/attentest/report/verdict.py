"""The verdict: the challenges' findings read together, in plain words.

Two questions are kept apart. Does attention rank the *states* that the output depends on? And does state t
still stand for *token* t? Attention can be read as a statement about the input only if both hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from attentest.store.summary import Estimate

__all__ = ["Goal", "Line", "Measured", "Tone", "Verdict", "items_of", "of_steps", "writes"]

#: Where rows are steps of writing: what is read stays a text, and what is counted, judged and drawn becomes steps.
OF_STEPS = (
    (r"decide the label", "tell what to write"),
    (r"the most frequent class", "the most frequent word"),
    (r"text by text", "sentence by sentence"),
    (r"(?<!of a )(?<!the )(?<!F\()\b(?:text|instance)\b(?!’s)", "step"),
    (r"(?<![Ee]rased )(?<!short )\b(?:texts|instances)\b", "steps"),
    (r"\bTexts\b", "Steps"),
)

Tone = Literal["supports", "mixed", "against", "unsettled", "context"]


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


@dataclass(frozen=True)
class Verdict:
    """A headline, a table of lines, what each goal may rely on, a closing paragraph, the limits, what is beside it."""

    headline: str
    lines: tuple[Line, ...]
    goals: tuple[Goal, ...]
    closing: str
    limits: tuple[str, ...]
    also: tuple[Measured, ...] = ()

    def said_of(self, items: str) -> Verdict:
        """The same in words for what attention weighs in the place of words, such as sentences."""

        return self.told(lambda text: re.sub(r"\b(?:word|token)(s?)\b", rf"{items}\1", text))

    def told(self, told: Callable[[str], str]) -> Verdict:
        """The same in other words."""
        lines = tuple(
            replace(line, question=told(line.question), result=told(line.result), reading=told(line.reading))
            for line in self.lines
        )
        goals = tuple(replace(goal, goal=told(goal.goal), why=told(goal.why)) for goal in self.goals)
        also = tuple(replace(one, words=told(one.words)) for one in self.also)
        return Verdict(told(self.headline), lines, goals, told(self.closing), self.limits, also)


def items_of(fields: Mapping[str, Any]) -> str:
    """What the examined attention weighs, by a run's fields."""
    sentences = fields.get("model", {}).get("structure") == "hierarchical" and fields.get("site") != "word"
    return "sentence" if sentences else "word"


def writes(fields: Mapping[str, Any]) -> bool:
    """Whether what was examined is steps of writing texts, by a run's fields."""
    return bool(fields.get("corpus", {}).get("task") == "translate")


def of_steps(text: str) -> str:
    """Words about texts and their classes as words about steps of writing and the words that are written."""
    for pattern, put in OF_STEPS:
        text = re.sub(pattern, put, text)
    return text

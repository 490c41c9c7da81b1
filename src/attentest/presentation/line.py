"""A line of the verdict: one question, its answer as a number, and what the number says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attentest.store.summary import Estimate

__all__ = ["ANSWER_OF", "Answer", "Line", "Measured", "Rival", "Settling", "Tone"]


#: What a line says for attention; "void" is one that rests on an explainer whose own check failed.
Tone = Literal["supports", "mixed", "against", "unsettled", "context", "void"]
#: May attention be used so?
Answer = Literal["yes", "with care", "no", "cannot say"]
#: What a line that decides answers by its tone; all else answers nothing.
ANSWER_OF: dict[str, Answer] = {"supports": "yes", "mixed": "with care", "against": "no"}


@dataclass(frozen=True)
class Settling:
    """What would settle a line whose interval crosses a threshold, if its estimate stays."""

    #: The threshold that is hardest to get clear of; None where there are only too few.
    threshold: float | None
    #: About how many would have to be judged; None: more than a hundred times as many.
    judged: int | None
    #: How many were.
    now: int


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
    #: Why it is not settled, where it is not and that is known.
    unsettled: str = ""
    #: Whether it cannot say because ways of measuring the same contradict each other.
    apart: bool = False
    #: The use of attention that it decides; "" where it decides none.
    decides: str = ""
    #: How well it alone told faithful attention from misleading one: AUROC and its interval, where that is known.
    auroc: tuple[float, float, float] | None = None


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

"""What one question gave, by every method: plain numbers, as they are kept and judged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from attentest.devices import ran_out
from attentest.errors import NotApplicable
from attentest.registry import text_of
from attentest.sources.case import Case
from attentest.sources.judging.alternatives import Alternatives, ask_alternatives
from attentest.sources.methods import Method
from attentest.sources.methods.ablation import drawn_subsets
from attentest.sources.planting.confirming import Confirmed, confirm

__all__ = ["KNOWN", "MATTERED", "TAKEN_OUT", "Given", "Record", "examine"]

#: The sources matter where the answer is this many nats less probable without any of them: e times, in its odds.
MATTERED = 1.0
#: The model knows an answer whose tokens have, without any source, a probability of a half (geometric mean).
KNOWN = float(np.log(0.5))
#: So many of a method's first items are taken out together, at most.
TAKEN_OUT = 2


@dataclass(frozen=True)
class Given:
    """What one method gave: scores, or why there are none, and what they cost."""

    scores: list[float]
    passes: int = 0
    tokens: int = 0
    seconds: float = 0.0
    not_judged: str = ""


@dataclass(frozen=True)
class Record:
    """One question before one model."""

    id: str
    question: str
    sources: list[str]
    items: list[str]
    #: The source that every item belongs to.
    of_source: list[int]
    answer: str
    span: str
    #: Tokens that are explained, and of the prompt.
    explained: int
    tokens: int
    #: The log-probability of what is explained: with all items, with none, and with one left out each.
    whole: float
    empty: float
    without: list[float]
    #: Ablations that no method was fitted on: what was kept, and the log-probability.
    kept: list[list[bool]]
    values: list[float]
    given: dict[str, Given]
    #: The weight of every item at every layer and head, and what lies elsewhere (sink, frame, question, answer).
    heads: list[list[list[float]]]
    rest: list[float]
    #: What was planted, and what the intervention says of it.
    kind: str = ""
    deciding: list[int] = field(default_factory=list)
    injected: int = -1
    margins: list[float] = field(default_factory=list)
    right: bool | None = None
    #: Every ablation that was made for this question, also those that methods were fitted on.
    ablations: list[list[bool]] = field(default_factory=list)
    told: list[float] = field(default_factory=list)
    #: What other weights over the sources do; None where that was not asked.
    alternatives: Alternatives | None = None

    @property
    def status(self) -> str:
        """``sources``: they matter; ``known``: the model knew it anyway; ``none``: no source mattered."""
        if self.whole - self.empty >= MATTERED:
            return "sources"
        return "known" if self.empty / self.explained >= KNOWN else "none"

    @property
    def drops(self) -> np.ndarray:
        """By how much the log-probability falls without each item."""
        return np.asarray(self.whole - np.array(self.without))

    def fall_without(self, items: Sequence[int]) -> float | None:
        """By how much the log-probability falls without all of these items; None where that was not asked."""
        kept = [place not in items for place in range(len(self.items))]
        return self.whole - self.told[self.ablations.index(kept)] if kept in self.ablations else None

    @property
    def confirmed(self) -> bool:
        """Whether the planted sources decide, by intervention."""
        return bool(self.deciding) and bool(self.right) and Confirmed(self.margins[0], self.margins[1], True).decides

    def to_json(self) -> str:
        """One line."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, line: str) -> Record:
        """From such a line."""
        about: dict[str, Any] = json.loads(line)
        about["given"] = {name: Given(**each) for name, each in about["given"].items()}
        if about.get("alternatives") is not None:
            about["alternatives"] = Alternatives(**about["alternatives"])
        return cls(**about)


def examine(
    case: Case, methods: Sequence[Method], *, held_out: int = 16, alternatives: bool = True, seed: int = 0
) -> Record:
    """Ask one question by every method, and take out every item, all of them, and some at random."""
    question, items = case.question, len(case.items)
    without = case.log_probability(~np.eye(items, dtype=bool))
    empty = case.log_probability(np.zeros((1, items), dtype=bool))
    kept = drawn_subsets(question.id, items, held_out, seed, apart=True)
    values = case.log_probability(kept) if held_out else np.zeros(0)
    planted = question.planted
    found = None if planted is None else confirm(case, planted)
    about: dict[str, Any] = {}
    if planted is not None:
        about = {"kind": planted.kind, "deciding": list(planted.deciding), "injected": planted.injected}
    if found is not None:
        about |= {"margins": [found.margin, found.margin_exchanged], "right": found.right}
    given = {text_of(method): _given(method, case) for method in methods}
    firsts = [np.argsort(-np.array(each.scores), kind="stable")[:TAKEN_OUT] for each in given.values() if each.scores]
    case.log_probability(np.array([~np.isin(np.arange(items), first) for first in firsts]).reshape(-1, items))
    ablations, told = case.ablations
    return Record(
        question.id,
        question.question,
        list(question.sources),
        [item.text for item in case.items],
        [item.source for item in case.items],
        case.answer.text,
        question.span,
        int(case.answer.explained.sum()),
        len(case.prompt.ids),
        case.whole,
        float(empty[0]),
        [float(value) for value in without],
        kept.tolist(),
        [float(value) for value in values],
        given,
        np.round(case.attended.summed, 6).tolist(),
        [float(share) for share in case.attended.rest.mean((0, 1))],
        **about,
        ablations=ablations.tolist(),
        told=told.tolist(),
        alternatives=ask_alternatives(case, seed=seed) if alternatives else None,
    )


def _given(method: Method, case: Case) -> Given:
    reason = method.objection(case)
    if reason is None:
        try:
            found = method.score(case)
        except NotApplicable as error:
            reason = str(error)
        except RuntimeError as error:
            if not ran_out(error):
                raise
            reason = "memory ran out"
        else:
            if np.isfinite(found.scores).all():
                cost = found.cost
                return Given([float(score) for score in found.scores], cost.passes, cost.tokens, cost.seconds)
            reason = "scores are not finite"
    return Given([], not_judged=reason)

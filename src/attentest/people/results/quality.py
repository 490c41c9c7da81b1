"""Who read and who did not: attention checks, gold items, and a sheet for every annotator."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from attentest.people.answers import Annotator
from attentest.people.results.agreement import Agreement
from attentest.people.results.answered import Answered
from attentest.statistics.intervals import Interval, wilson

__all__ = ["Sheet", "failing", "gold_share", "sheets"]


@dataclass(frozen=True)
class Sheet:
    """What one annotator did."""

    annotator: str
    kind: str
    answered: int
    assigned: int
    #: Answers that were changed or taken back.
    changed: int
    checks: int
    failed: int
    gold: int
    gold_right: int
    median_seconds: float
    total_seconds: float
    #: By condition and outcome: the share of their answers.
    shares: dict[str, dict[str, float]]
    #: The mean of Cohen's κ with the others.
    kappa: float
    left_out: bool


def failing(found: Answered) -> tuple[str, ...]:
    """Who failed more of the checks than the study's rule allows, which was fixed before anybody answered."""
    most = float(found.study.record.get("failed", 0.25))
    asked: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for answer, item in found.of_kind("check"):
        asked[answer.annotator] += 1
        failed[answer.annotator] += answer.choice != item.hidden.truth
    return tuple(name for name in found.people if asked[name] and failed[name] / asked[name] > most)


def gold_share(found: Answered) -> Interval:
    """How many answers to gold items follow the planted truth."""
    given = found.of_kind("gold")
    return wilson(sum(answer.choice == item.hidden.truth for answer, item in given), len(given))


def sheets(found: Answered, agreed: Agreement, left_out: tuple[str, ...]) -> list[Sheet]:
    """A sheet for everybody, in the order of invitation."""
    known = {annotator.name: annotator for annotator in found.study.store.annotators()}
    return [_sheet(found, row, known[name], agreed, name in left_out) for row, name in enumerate(found.people)]


def _sheet(found: Answered, row: int, who: Annotator, agreed: Agreement, left_out: bool) -> Sheet:
    study = found.study
    own = [answer for answer in found.answers if answer.annotator == who.name]
    seconds = [answer.seconds for answer in own if answer.seconds is not None]
    right = {
        kind: [
            answer.choice == item.hidden.truth for answer, item in found.of_kind(kind) if answer.annotator == who.name
        ]
        for kind in ("check", "gold")
    }
    shares = {}
    for condition in study.design.conditions:
        given = found.outcomes[row][found.seen[row] & (found.conditions == condition)]
        shares[condition] = {o: float(np.mean(given == o)) if len(given) else math.nan for o in study.design.outcomes}
    kappas = [pair.kappa.value for pair in agreed.pairs if who.name in (pair.first, pair.second)]
    usable = [kappa for kappa in kappas if math.isfinite(kappa)]
    return Sheet(
        annotator=who.name,
        kind=who.kind,
        answered=len(own),
        assigned=len(study.items if who.kind == "imported" else study.assigned(who)),
        changed=len(study.store.history(who)) - len(own),
        checks=len(right["check"]),
        failed=len(right["check"]) - sum(right["check"]),
        gold=len(right["gold"]),
        gold_right=sum(right["gold"]),
        median_seconds=float(np.median(seconds)) if seconds else math.nan,
        total_seconds=float(np.sum(seconds)) if seconds else math.nan,
        shares=shares,
        kappa=float(np.mean(usable)) if usable else math.nan,
        left_out=left_out,
    )

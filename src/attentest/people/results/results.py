"""All that a study's answers say, computed anew from the answers each time."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any

import numpy as np

from attentest.people.results.agreement import Agreement, agreement
from attentest.people.results.answered import Answered, Whose, answered
from attentest.people.results.power import Needed, items_needed
from attentest.people.results.quality import Sheet, failing, gold_share, sheets
from attentest.people.results.shares import Cell, Share, met, shares, table
from attentest.people.results.verdict import Plausible, plausible
from attentest.people.simulated import expected_kappa
from attentest.people.study import PeopleStudy
from attentest.statistics.crossed import Components, components
from attentest.statistics.intervals import Interval

__all__ = ["Part", "Results", "results_of"]

#: The half-widths that power is told for.
HALF_WIDTHS = (0.1, 0.05)


@dataclass(frozen=True)
class Part:
    """What some people's answers say."""

    people: tuple[str, ...]
    answers: int
    shares: tuple[Share, ...]
    cells: tuple[Cell, ...]
    agreement: Agreement
    verdict: Plausible

    def share(self, condition: str, outcome: str) -> Share:
        """One of the shares."""
        return next(each for each in self.shares if (each.condition, each.outcome) == (condition, outcome))

    def cell(self, condition: str, outcome: str, *, correct: bool) -> Cell:
        """One of the cells."""
        wanted = (condition, correct, outcome)
        return next(each for each in self.cells if (each.condition, each.correct, each.outcome) == wanted)


@dataclass(frozen=True)
class Results:
    """What a study's answers say, without those who failed the checks, and with everybody."""

    study: str
    design: str
    whose: Whose
    runs: tuple[dict[str, Any], ...]
    #: Without those who failed the checks: what counts.
    kept: Part
    #: With everybody: what leaving them out changes.
    everybody: Part
    left_out: tuple[str, ...]
    #: More failed checks than this share, and an annotator is left out; fixed when the study was made.
    rule: float
    gold: Interval
    sheets: tuple[Sheet, ...]
    #: How alike answers to one item and answers of one person are, under the first condition.
    vary: Components | None
    power: tuple[Needed, ...]
    #: How many people of each kind answered: on our pages, elsewhere, or simulated.
    kinds: dict[str, int]
    withdrawn: int
    #: The κ that simulated annotators should have by their slip rates; None of people.
    expected: float | None

    def record(self) -> dict[str, Any]:
        """All of it as plain values; what has no meaning is null."""
        found: dict[str, Any] = _plain(self)
        return {"verdict": self.kept.verdict.line, "simulated": self.whose == "simulated", **found}


def results_of(study: PeopleStudy, whose: Whose = "people") -> Results:
    """The results of people's answers, or of simulated annotators'."""
    everybody = answered(study, whose)
    out = failing(everybody)
    kept = everybody.without(out)
    part = _part(kept)
    whole = _part(everybody) if out else part
    known = {each.name: each.kind for each in study.store.annotators()}
    vary = _vary(kept)
    kinds = [str(known[name]) for name in everybody.people]
    return Results(
        study=study.name,
        design=str(study.record["design"]),
        whose=whose,
        runs=tuple(study.record.get("runs", ())),
        kept=part,
        everybody=whole,
        left_out=out,
        rule=float(study.record.get("failed", 0.25)),
        gold=gold_share(kept),
        sheets=tuple(sheets(everybody, whole.agreement, out)),
        vary=vary,
        power=tuple(items_needed(vary, len(kept.people), half, _overlap(study)) for half in HALF_WIDTHS)
        if vary
        else (),
        kinds={kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        withdrawn=study.store.withdrawn,
        expected=expected_kappa(study, kept.people) if whose == "simulated" else None,
    )


def _part(found: Answered) -> Part:
    seed, study = int(found.study.record["seed"]), found.study
    requirements = study.design.requirements(len(study.record.get("classes", ())))
    required = [met(found, requirement, seed) for requirement in requirements] if found.people else []
    return Part(
        people=found.people,
        answers=int(found.seen.sum()) if found.people else 0,
        shares=tuple(shares(found, seed)) if found.people else (),
        cells=tuple(table(found, seed)) if found.people else (),
        agreement=agreement(found, seed),
        verdict=plausible(required, len(found.people), found.whose),
    )


def _overlap(study: PeopleStudy) -> int | None:
    """The items under each condition that everybody gets; None where these are all."""
    return None if study.portions == 1 else math.ceil(int(study.record["overlap"]) / len(study.design.conditions))


def _vary(found: Answered) -> Components | None:
    """What the first outcome under the first condition varies by; None where nobody answered."""
    design = found.study.design
    here = found.conditions == design.conditions[0]
    if not found.people or not found.seen[:, here].any():
        return None
    return components((found.outcomes == design.outcomes[0])[:, here], found.seen[:, here])


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return {name: _plain(number) for name, number in value._asdict().items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(getattr(value, name)) for name in asdict(value)}
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    return value

"""Simulated annotators: they answer by the planted truth, and slip now and then. What agreement that should give.

They exercise the whole path in tests and demos. Their answers are marked as simulated and are in no figure of people's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations

import numpy as np

from attentest.errors import InputError, NotApplicable
from attentest.people.answers import Answer, AnswerKind
from attentest.people.item import Item
from attentest.people.source import chance
from attentest.people.study import PeopleStudy

__all__ = ["ExpectedAgreement", "answer_chances", "expected_agreement", "expected_kappa", "simulate"]
#: Annotators that are added at once.
MOST = 1000


@dataclass(frozen=True)
class ExpectedAgreement:
    """What two annotators who slip should agree like."""

    #: The chance that both give one answer to an item, and that they would by their shares alone.
    observed: float
    by_chance: float

    @property
    def kappa(self) -> float:
        """(p_o − p_e) / (1 − p_e); NaN where all answers are alike."""
        return math.nan if self.by_chance >= 1 else (self.observed - self.by_chance) / (1 - self.by_chance)


def answer_chances(item: Item, slip: float) -> np.ndarray:
    """The chance of every choice of an item: the planted one, unless a slip takes another; a guess takes any alike."""
    values = [choice.value for choice in item.shown.choices]
    if item.hidden.planted not in values:
        return np.full(len(values), 1 / len(values))
    found = np.full(len(values), slip / (len(values) - 1))
    found[values.index(item.hidden.planted)] = 1 - slip
    return found


def expected_agreement(items: Sequence[Item], slip: float, other: float | None = None) -> ExpectedAgreement:
    """Two annotators who answer independently given the items: p_o is the mean of Σ p², p_e the square of mean shares.

    Of yes and no, with a share b of planted yes, it is κ = b(1 − b)(1 − 2s)² / q(1 − q), where q = b(1 − s) + (1 − b)s.
    """
    if not items:
        return ExpectedAgreement(math.nan, math.nan)
    first, second = (_chances(items, rate) for rate in (slip, slip if other is None else other))
    return ExpectedAgreement(float((first * second).sum(1).mean()), float(first.mean(0) @ second.mean(0)))


def _chances(items: Sequence[Item], slip: float) -> np.ndarray:
    """[item, value]: the chance of every answer."""
    values = sorted({choice.value for item in items for choice in item.shown.choices})
    found = np.zeros((len(items), len(values)))
    for row, item in enumerate(items):
        for choice, share in zip(item.shown.choices, answer_chances(item, slip), strict=True):
            found[row, values.index(choice.value)] = share
    return found


def expected_kappa(study: PeopleStudy, names: Sequence[str]) -> float | None:
    """The mean over pairs of the κ that simulated annotators should have; None where they are not all known."""
    slips = [study.store.note(f"simulated {name}") for name in names]
    items = [item for item in study.items.values() if item.hidden.kind == "item"]
    rates = [float(slip) for slip in slips if slip is not None]
    if len(rates) < max(len(names), 2):
        return None
    pairs = Counter(combinations(sorted(rates), 2))
    found = [expected_agreement(items, *pair).kappa for pair in pairs]
    return float(np.average(found, weights=list(pairs.values())))


def simulate(study: PeopleStudy, annotators: int = 3, slip: float = 0.1, seed: int = 0, careless: int = 0) -> list[str]:
    """Add simulated annotators with all their answers; their names.

    They answer checks as these ask, but for the last ``careless`` ones, who answer everything at random.
    """
    if annotators < 1:
        raise InputError(f"--annotators {annotators} must be at least 1.")
    if annotators > MOST:
        raise InputError(f"--annotators {annotators} must be at most {MOST:,}: ask for fewer.")
    if not 0 <= slip <= 1:
        raise InputError(f"--slip {slip} must lie between 0 and 1: how often a wrong answer is given.")
    if not 0 <= careless <= annotators:
        raise InputError(f"--careless {careless} must lie between 0 and --annotators {annotators}.")
    items = [item for item in study.items.values() if item.hidden.kind == "item"]
    told = sum(bool(item.hidden.planted) for item in items)
    if not told:
        raise NotApplicable(
            f"{study.name} has no planted truth to answer by: its corpus has no rationales. Make the study from a run "
            "on a corpus that has them, such as 'reviews', 'babi-1' or 'planted-imdb'."
        )
    taken = len(study.store.annotators("simulated"))
    kind: AnswerKind = "simulated"
    rows: list[tuple[str, AnswerKind, int]] = []
    answers: list[Answer] = []
    portions = Counter(each.portion for each in study.store.annotators("simulated"))
    for number in range(taken + 1, taken + annotators + 1):
        name = f"simulated-{number}"
        portion = min(range(study.portions), key=lambda each: (portions[each], each))
        portions[portion] += 1
        rows.append((name, kind, portion))
        answers += _answers(study, name, portion, None if number > taken + annotators - careless else slip, seed)
    notes = {f"simulated {name}": str(slip) for name, _, _ in rows[: annotators - careless]}
    study.store.insert(rows, answers, notes)
    return [name for name, _, _ in rows]


def _answers(study: PeopleStudy, name: str, portion: int, slip: float | None, seed: int) -> list[Answer]:
    """The answers of one; without a slip rate they are drawn, whatever is asked."""
    at, draw = datetime.now(UTC).isoformat(timespec="milliseconds"), chance(seed, "simulated", name)
    found = []
    for item in study.portion(portion):
        values = [choice.value for choice in item.shown.choices]
        slips = 0.0 if item.hidden.kind == "check" else slip
        chances = np.full(len(values), 1 / len(values)) if slip is None else answer_chances(item, slips or 0.0)
        choice = values[int(draw.choice(len(values), p=chances))]
        found.append(Answer(name, "simulated", item.id, choice, None, at))
    return found

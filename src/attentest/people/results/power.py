"""Power: how many answers a share needs to be known to ±.1, when people share items and items share people."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from attentest.errors import InputError
from attentest.people.making import usual_checks, usual_gold
from attentest.statistics.crossed import Components

__all__ = ["CostPlan", "Needed", "items_needed", "plan_of"]

#: So many standard errors on both sides hold 95 % of a normal distribution.
NORMAL = 1.959964
#: Nobody is asked more items than this.
MOST = 100_000


@dataclass(frozen=True)
class Needed:
    """What would do: so many people and items under a condition, some or all of the items for everybody."""

    half_width: float
    people: int
    #: Items under one condition; None: no number of items is enough for so few people.
    items: int | None
    #: Answers under one condition.
    answers: int
    #: How many more answers it takes than if all were independent.
    effect: float
    #: With fewer people no number of items is enough.
    fewest: int


def items_needed(found: Components, people: int, half_width: float = 0.1, overlap: int | None = None) -> Needed:
    """How many items it takes until the 95 % interval of a share reaches ± ``half_width``.

    Everybody answers all items, or the first ``overlap`` of them, the others being dealt. What people differ by does
    not shrink with more items.
    """
    _check(found, people, half_width)
    enough = (half_width / NORMAL) ** 2
    whole = found.share * (1 - found.share)
    fewest = math.floor(whole * found.people / enough) + 1
    low, high = 1, MOST
    if found.variance(people, high, overlap) > enough:
        return Needed(half_width, people, None, 0, math.inf, max(fewest, people + 1))
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if found.variance(people, middle, overlap) <= enough else (middle + 1, high)
    shared = low if overlap is None else min(overlap, low)
    answers = shared * people + low - shared
    return Needed(half_width, people, low, answers, answers / max(whole / enough, 1.0), fewest)


@dataclass(frozen=True)
class CostPlan:
    """How large a study must be, how long it takes and what it costs."""

    needed: Needed
    conditions: int
    #: Items that count, of everybody together, checks and gold items beside them.
    items: int
    beside: int
    minutes: float
    cost: float
    share: float
    agreement: float
    people_differ: float
    #: Items that everybody gets, the others being dealt; None: everybody gets all.
    overlap: int | None

    def record(self) -> dict[str, float | int | None]:
        """All of it as plain values."""
        found = asdict(self)
        return {**found.pop("needed"), **found}

    @property
    def text(self) -> str:
        """All of it in words; the number that was asked for comes first."""
        need, reach = self.needed, f"±{self.needed.half_width:g}"
        dealt = "" if self.overlap is None else f" --overlap {self.overlap} --annotators {need.people}"
        return (
            f"For {reach} you need {need.answers:,} answers under each of {self.conditions} conditions: "
            f"{need.people} people, {need.items:,} texts a condition ({need.effect:.1f} times as many as independent "
            f"answers)\n"
            f"Study   attentest people new RUN --name NAME --items {self.items}{dealt}   "
            f"({self.beside} checks and gold items beside)\n"
            f"Time    {self.minutes:.0f} minutes for each, {need.people * self.minutes / 60:.1f} hours for all\n"
            f"Cost    {self.cost:,.2f}, fees included"
        )


def plan_of(
    people: int,
    half_width: float,
    share: float,
    agreement: float,
    people_differ: float,
    *,
    conditions: int = 2,
    seconds: float = 20.0,
    pay: float = 15.0,
    fee: float = 0.33,
    overlap: int | None = None,
) -> CostPlan:
    """A study that is large enough, and what it takes; ``pay`` is for an hour, ``fee`` a share of it.

    ``overlap`` items of all conditions together are for everybody.
    """
    shared = None if overlap is None else math.ceil(overlap / conditions)
    needed = items_needed(Components(share, agreement, people_differ), people, half_width, shared)
    if needed.items is None:
        raise InputError(
            f"{people} people are too few for ±{half_width:g} when they differ so much "
            f"(--people-differ {people_differ:g}): no number of items is enough. "
            f"Ask at least {needed.fewest} (--annotators)."
        )
    items = conditions * needed.items
    each = math.ceil(conditions * needed.answers / people)
    beside = usual_checks(each) + usual_gold(each)
    minutes = (each + beside) * seconds / 60
    return CostPlan(
        needed,
        conditions,
        items,
        beside,
        minutes,
        people * minutes / 60 * pay * (1 + fee),
        share,
        agreement,
        people_differ,
        overlap,
    )


def _check(found: Components, people: int, half_width: float) -> None:
    if not 0 < half_width < 1:
        raise InputError(f"A half-width of {half_width} must lie between 0 and 1, as 0.1.")
    if people < 1:
        raise InputError(f"{people} people cannot answer: name at least 1.")
    if not 0 <= found.share <= 1 or found.items < 0 or found.people < 0 or found.items + found.people > 1:
        raise InputError(
            f"A share of {found.share:g}, an agreement of {found.items:g} and people who differ by {found.people:g} "
            "must lie between 0 and 1, the last two together at most at 1."
        )

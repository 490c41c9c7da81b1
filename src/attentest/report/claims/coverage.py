"""How much of what the papers print has a figure of ours, table by table, counted from the outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from attentest.papers.claims import Claim
from attentest.papers.outcomes import Outcome
from attentest.papers.settling import STATUSES

__all__ = ["Coverage", "coverage"]


@dataclass(frozen=True)
class Coverage:
    """The printed figures of one table, by what came out."""

    table: str
    counts: Counter[str]

    @property
    def printed(self) -> int:
        """All of them."""
        return self.counts.total()

    @property
    def ours(self) -> int:
        """Those with a figure of ours beside them."""
        return sum(self.counts[status] for status in ("agrees", "unsettled", "differs"))

    def __add__(self, other: Coverage) -> Coverage:
        """Two tables together."""
        return Coverage("", self.counts + other.counts)

    def row(self) -> tuple[str, ...]:
        """Printed, with ours, then every status."""
        return (f"{self.printed:,}", f"{self.ours:,}", *(f"{self.counts[status]:,}" for status in STATUSES))


def coverage(outcomes: Iterable[Outcome]) -> list[Coverage]:
    """The tables of a paper; what was only released, or recalled, is not printed."""
    found: dict[str, Counter[str]] = {}
    for outcome in outcomes:
        if isinstance(outcome.claim, Claim) and outcome.claim.source == "printed":
            found.setdefault(outcome.claim.table, Counter())[outcome.status] += 1
    return [Coverage(table, counts) for table, counts in found.items()]

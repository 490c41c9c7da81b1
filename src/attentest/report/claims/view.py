"""A paper's outcomes in the order and the words a reader meets them in, for the terminal and the page alike."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from attentest.papers.claims import Claim, Claims, Direction
from attentest.papers.counts import DECIMALS
from attentest.papers.outcomes import Outcome, Rate, chance, rate
from attentest.papers.settling import Chance, Status

__all__ = ["MARKS", "View"]

#: What a status looks like: a symbol, so that no colour is needed, and a colour.
MARKS: Final = {
    "agrees": ("✓", "green"),
    "differs": ("✗", "red"),
    "unsettled": ("?", "yellow"),
    "not run": ("–", "dim"),
    "unavailable": ("∅", "dim"),
}
_SAID: Final[tuple[tuple[Status, str], ...]] = (("agrees", "agree"), ("differs", "differ"), ("unsettled", "unsettled"))
_LONG = 7  # characters of a figure that is printed, not released to all digits


@dataclass(frozen=True)
class View:
    """The outcomes of one paper."""

    claims: Claims
    outcomes: Sequence[Outcome]

    @property
    def directions(self) -> list[Outcome]:
        """The conclusions."""
        return [outcome for outcome in self.outcomes if isinstance(outcome.claim, Direction)]

    @property
    def figures(self) -> list[Outcome]:
        """The figures."""
        return [outcome for outcome in self.outcomes if isinstance(outcome.claim, Claim)]

    @property
    def tables(self) -> dict[str, list[Outcome]]:
        """The figures by the paper's table, those of one corpus and model together."""
        found: dict[str, dict[tuple[str, str], list[Outcome]]] = {}
        for outcome in self.figures:
            about = (outcome.claim.corpus, self.model(outcome))
            found.setdefault(outcome.claim.table, {}).setdefault(about, []).append(outcome)
        return {table: [one for group in groups.values() for one in group] for table, groups in found.items()}

    @cached_property
    def notes(self) -> dict[str, int]:
        """Every difference from the paper, numbered as it first occurs."""
        found = dict.fromkeys(o.difference for o in self.outcomes if o.settled and not o.like_for_like)
        return {words: number for number, words in enumerate(found, start=1)}

    @cached_property
    def remarks(self) -> dict[str, str]:
        """What is known about misses, lettered as it first occurs."""
        found = dict.fromkeys(o.reason for o in self.outcomes if o.settled and o.reason)
        return {words: chr(ord("a") + number) for number, words in enumerate(found)}

    @property
    def recalled(self) -> str:
        """How many compared claims are recalled and so in no rate, as a line; empty where there are none."""
        each = [sum(o.settled and o.claim.recalled for o in found) for found in (self.figures, self.directions)]
        if not any(each):
            return ""
        counts = [f"{n:,} {what}{'' if n == 1 else 's'}" for n, what in zip(each, ("figure", "direction"), strict=True)]
        return f"Recalled, unverified: {' and '.join(counts)} compared, in no rate"

    @property
    def asked_by_us(self) -> str:
        """How the questions came out that the paper does not ask, as a line; empty where there are none."""
        found = [o for o in self.directions if o.settled and isinstance(o.claim, Direction) and o.claim.rule.ours]
        if not found:
            return ""
        counts = Counter(o.status for o in found)
        each = ", ".join(f"{counts[status]} {word}" for status, word in _SAID if counts[status])
        return f"Ours, the paper's sentences about models it does not have: {each}; in no rate"

    def rates(self, outcomes: Iterable[Outcome]) -> tuple[Rate, Rate]:
        """The agreement rate like for like, and the same count among the others."""
        listed = list(outcomes)
        return rate(listed), rate(listed, like_for_like=False)

    def chances(self, outcomes: Iterable[Outcome]) -> tuple[Chance | None, Chance | None]:
        """What each of the two rates would be with other published values."""
        listed, rules = list(outcomes), self.claims.rules
        return chance(listed, rules), chance(listed, rules, like_for_like=False)

    def of_table(self, outcomes: Iterable[Outcome]) -> list[str]:
        """How one table came out and what would agree by chance, a line for each of the two kinds that it has."""
        listed = list(outcomes)
        kinds = zip(("like for like", "not like for like"), self.rates(listed), self.chances(listed), strict=True)
        return [f"{kind}: {found}" + f"; {null}" * bool(null) for kind, found, null in kinds if found.compared]

    @property
    def intervals(self) -> str:
        """What the intervals are over, as each was made, and how many of them miss by chance."""
        made = [outcome for outcome in self.outcomes if outcome.settled and outcome.interval]
        alone = [outcome for outcome in made if outcome.interval == "bootstrap"]
        single = sum(len(outcome.seeds) == 1 for outcome in alone)
        few = len(alone) - single
        over, beside = "seeds and texts drawn again", [f"{single:,} of one seed: over texts alone"] * bool(single)
        beside += [f"{few:,} not widened to Student’s t over their seeds: too narrow"] * bool(few)
        if made and single == len(made):
            said = "Intervals are over texts drawn again: each is of one seed, and says nothing of others."
        elif made and few == len(made):
            said = f"Intervals are over {over}, not widened to Student’s t over seeds: from a few seeds too narrow."
        else:
            but = f" (but {'; '.join(beside)})" if beside else ""
            said = f"Intervals are over {over}, no narrower than Student’s t over seeds{but}."
        count = len(made)
        return (
            f"{said} None is corrected for their number: of {count:,} at 95 %, about {count / 20:.0f} miss by chance."
        )

    @staticmethod
    def reasons(outcomes: Iterable[Outcome]) -> dict[tuple[str, str], int]:
        """Why there is no figure of ours, with how many claims that concerns, the most frequent first."""
        absent = Counter((o.status, o.reason) for o in outcomes if not o.settled)
        return {(str(status), reason): count for (status, reason), count in absent.most_common()}

    def measure(self, outcome: Outcome) -> str:
        """What is measured, and of which class."""
        claim = outcome.claim
        if isinstance(claim, Direction):
            return claim.rule.reading
        rule = self.claims.rules.measures[claim.measure]
        if claim.group in rule.members:
            return self.claims.rules.measure(claim.measure, claim.group).words
        if not claim.group:
            return rule.words
        of_class = ("class " if rule.count else "predicted class ") * claim.group.isdigit()
        return f"{rule.words}, {of_class}{claim.group}"

    @staticmethod
    def short(outcome: Outcome) -> str:
        """The measure's name in the paper's files, for narrow places."""
        claim = outcome.claim
        if isinstance(claim, Direction):
            return claim.rule.name
        name = claim.measure.replace("_significant_fraction", " significant").replace("_", " ")
        name = name.replace("tau ", "τ ").replace("leave one out", "leave-one-out")
        return f"{name}, {'class ' if claim.group.isdigit() else ''}{claim.group}" if claim.group else name

    @staticmethod
    def model(outcome: Outcome) -> str:
        """Model and attention, where the claim is about one."""
        claim = outcome.claim
        if isinstance(claim, Direction):
            return ""
        return ", ".join(part.replace("_", " ") for part in (claim.model, claim.attention) if part)

    def published(self, outcome: Outcome) -> str:
        """The figure as it is printed; released ones to three digits."""
        claim = outcome.claim
        if isinstance(claim, Direction):
            rule, mark = claim.rule, f"{self._mark(outcome):g}".replace("-", "−")
            near = f"within ±{rule.margin:g}" + (f" of {mark}" if mark != "0" else "")
            side = {"higher": f"above {mark}", "lower": f"below {mark}", "near": near}[rule.sense]
            return side if rule.left is not None else ""
        if not claim.printed:
            return "none"
        value = claim.printed if len(claim.printed) < _LONG else f"{claim.value:.3f}"
        if float(claim.value).is_integer() and claim.value >= 10_000:
            value = f"{claim.value:,.0f}"
        spread = claim.printed_spread
        shown = spread if len(spread) < _LONG else f"{float(spread):.3f}"
        return (f"{value} ± {shown}" if spread else value).replace("-", "−")

    def ours(self, outcome: Outcome) -> str:
        """Our number, in the digits that the measure deserves; a direction's is a difference, unless it has a mark."""
        return self._number(outcome, outcome.ours + self._mark(outcome)) if outcome.settled else ""

    def interval(self, outcome: Outcome) -> str:
        """Its 95 % interval over seeds and instances."""
        if not outcome.settled or math.isnan(outcome.low):
            return ""
        low, high = (self._number(outcome, end + self._mark(outcome)) for end in (outcome.low, outcome.high))
        return f"[{low}, {high}]"

    def basis(self, outcome: Outcome) -> str:
        """What it stands on: seeds, texts, and how far seeds and texts spread."""
        if not outcome.settled or not outcome.seeds:
            return ""
        seeds = len(outcome.seeds)
        parts = [f"{seeds} seed{'s' if seeds > 1 else ''}", f"{outcome.judged:,} judged"]
        if outcome.not_judged:
            parts.append(f"{outcome.not_judged:,} not")
        if seeds > 1 and math.isfinite(outcome.seed_low):
            parts.append(
                f"seeds {self._number(outcome, outcome.seed_low)} to {self._number(outcome, outcome.seed_high)}"
            )
        if math.isfinite(outcome.spread):
            parts.append(f"± {self._number(outcome, outcome.spread)} over texts")
        return ", ".join(parts)

    @staticmethod
    def _mark(outcome: Outcome) -> float:
        """What a direction compares one measure with; 0 where it compares two, and for figures."""
        return float(outcome.claim.rule.value or 0.0) if isinstance(outcome.claim, Direction) else 0.0

    def _number(self, outcome: Outcome, value: float) -> str:
        claim = outcome.claim
        if math.isnan(value):
            return "not reached"
        digits = 3
        side = claim if isinstance(claim, Claim) else claim.rule.left
        if side is not None:
            rule = self.claims.rules.measure(side.measure, side.group)
            if rule.count:
                digits = DECIMALS.get(rule.count, 0)
            elif abs(rule.scale) >= 100 or rule.statistic.startswith("bleu"):
                digits = 1
        text = f"{value:,.{digits}f}"
        return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text.replace("-", "−")

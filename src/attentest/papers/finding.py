"""A measure of a paper as our runs have it: the runs that stand for it, the sample, the figure and its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attentest.papers.evidence import Evidence, Group
from attentest.papers.matching import Match, best, challenge_difference
from attentest.papers.rules import Rules, Side
from attentest.statistics.intervals import Interval
from attentest.statistics.resampling import Sample, interval
from attentest.statistics.seeds import wider

__all__ = ["Compared", "Finder", "Found", "Parts", "in_digits", "scaled"]

#: Figures of every seed, with the factor that their mean counts with.
Parts = Sequence[tuple[float, Sequence[float]]]


@dataclass(frozen=True)
class Found:
    """A measure as our runs have it, in the paper's unit."""

    measure: str
    match: Match
    sample: Sample
    interval: Interval
    per_seed: tuple[float, ...]
    scale: float


@dataclass(frozen=True)
class Compared:
    """How far the two sides of a conclusion lie apart, and what that stands on."""

    match: Match
    #: Over seeds and texts drawn again.
    gap: Interval
    #: The figures of every seed that the gap is made of, for Student's t.
    parts: Parts
    also: str
    judged: int
    not_judged: int
    #: Why nothing can be settled by it, however far they lie apart.
    few: str = ""


class Finder:
    """Looks every measure up once."""

    def __init__(self, rules: Rules, groups: Sequence[Group], evidence: Evidence | None = None) -> None:
        self.rules = rules
        self.groups = groups
        self.evidence = evidence or Evidence()
        self._found: dict[tuple[str, Side, tuple[tuple[str, str], ...]], Found | str] = {}

    def find(self, corpus: str, side: Side, instead: Mapping[str, str] | None = None) -> Found | str:
        """The runs and the numbers of a measure, or why there are none; ``instead`` names a control's choices."""
        key = (corpus, side, tuple(sorted((instead or {}).items())))
        if key not in self._found:
            self._found[key] = self._look(corpus, side, instead)
        return self._found[key]

    def _look(self, corpus: str, side: Side, instead: Mapping[str, str] | None) -> Found | str:
        rule, about = self.rules.measure(side.measure, side.group), self.rules.corpora[corpus]
        names = [about.name, rule.challenge]
        names += [self.rules.models[side.model].name] if side.model else []
        names += [self.rules.attentions[side.attention].name] if side.attention else []
        if not all(names):
            return ""
        match = best(self.groups, self.rules, corpus, side.model, side.attention, rule.challenge, instead)
        if match is None:
            there = best(self.groups, self.rules, corpus, side.model, side.attention, "", instead)
            return "" if there is None else f"its runs have no finished {rule.challenge}"
        group = match.group
        own_way = self.rules.own.measures.get(side.measure)
        sample: Sample | str | None
        if own_way is not None:
            sample = own_way(self.evidence, group, rule, side.group)
        else:
            sample = self.evidence.sample(group, rule, side.group)
        if isinstance(sample, str):
            return sample
        if sample is None:
            which = ", ".join(f"{column} {value!r}" for column, value in rule.where.items())
            return f"its runs have no {rule.challenge} of {which}" if which else "no text of this group could be judged"
        own = interval(sample, " | ".join((*group.run_ids, side.measure, side.group)))
        own = wider(own, [(1.0, tuple(map(float, sample.per_seed)))])
        run = self.evidence.challenge_text(group, rule.challenge)
        asked = about.challenges.get(rule.challenge, rule.challenge)
        match = Match(group, (*match.differences, *challenge_difference(asked, run, self.rules)))
        each = tuple(float(figure) * rule.scale for figure in sample.per_seed)
        return Found(side.measure, match, sample, scaled(own, rule.scale), each, rule.scale)


def scaled(own: Interval, scale: float) -> Interval:
    """A figure in the paper's unit; a scale below zero turns what is lost into a change, and the ends around."""
    return Interval(own.value * scale, *sorted((own.low * scale, own.high * scale)))


def in_digits(value: float) -> str:
    """A figure as it stands in a sentence."""
    return "not reached" if math.isnan(value) else f"{value:.3f}"

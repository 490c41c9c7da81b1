"""A measure of a paper as our runs have it: the runs that stand for it, the sample, the figure and its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attentest.papers.evidence import Evidence, Group
from attentest.papers.matching import Match, best, challenge_difference
from attentest.papers.rules import Rules, Side
from attentest.statistics.intervals import Interval
from attentest.statistics.resampling import Sample, interval
from attentest.statistics.seeds import wider

__all__ = ["Finder", "Found"]


@dataclass(frozen=True)
class Found:
    """A measure as our runs have it, in the paper's unit."""

    measure: str
    match: Match
    sample: Sample
    interval: Interval
    per_seed: tuple[float, ...]
    scale: float


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
        within = self.rules.measures[rule.within] if rule.within else None
        if within is not None and not group.has(within.challenge):
            return f"its runs have no finished {within.challenge}"
        sample = self.evidence.sample(group, rule, side.group, within)
        if sample is None:
            which = ", ".join(f"{column} {value!r}" for column, value in rule.where.items())
            return f"its runs have no {rule.challenge} of {which}" if which else "no text of this group could be judged"
        own = interval(sample, " | ".join((*group.run_ids, side.measure, side.group)))
        own = wider(own, [(1.0, tuple(map(float, sample.per_seed)))])
        # A scale below zero turns what is lost into a change, and the ends of its interval around.
        ends = sorted((own.low * rule.scale, own.high * rule.scale))
        scaled = Interval(own.value * rule.scale, *ends)
        run = self.evidence.challenge_text(group, rule.challenge)
        asked = about.challenges.get(rule.challenge, rule.challenge)
        match = Match(group, (*match.differences, *challenge_difference(asked, run, self.rules)))
        each = tuple(float(figure) * rule.scale for figure in sample.per_seed)
        return Found(side.measure, match, sample, scaled, each, rule.scale)

"""Outcomes: every claim beside what our runs say; a miss is a miss."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attentest.papers.claims import Claim, Claims, Direction, load_claims
from attentest.papers.evidence import Cell, Evidence, Group, grouped
from attentest.papers.finding import Compared, Finder, Found, Parts, in_digits, scaled
from attentest.papers.matching import Match, best, corpus_text, data_differences
from attentest.papers.rules import CorpusRule, DirectionRule, MeasureRule, NameRule, Rules, Side
from attentest.papers.settling import Chance, Status, Way, by_chance, of_direction, of_figure
from attentest.statistics.intervals import Interval
from attentest.statistics.resampling import difference, rescaled
from attentest.statistics.seeds import half_width, wider

__all__ = ["Outcome", "Rate", "chance", "evaluate", "rate"]

RECALLED = "unverified: recalled, or from outside the sources at hand"
NO_VALUE = "the authors' file holds no value: a NaN in one instance blanked it"


@dataclass(frozen=True)
class Outcome:
    """One claim, our number with its interval over seeds and instances, and whether they agree."""

    claim: Claim | Direction
    status: Status
    ours: float = math.nan
    low: float = math.nan
    high: float = math.nan
    #: How the interval is made; empty where there is none.
    interval: Way = ""
    #: Our standard deviation over instances, and the smallest and largest figure of a seed.
    spread: float = math.nan
    seed_low: float = math.nan
    seed_high: float = math.nan
    seeds: tuple[int, ...] = ()
    #: Texts the figure stands on, and those that could not be judged, over all seeds.
    judged: int = 0
    not_judged: int = 0
    like_for_like: bool = True
    #: In what ours is not the paper's, in words.
    difference: str = ""
    #: Why there is no figure, or what is known about a miss.
    reason: str = ""
    #: Other numbers worth reading beside ours.
    also: str = ""
    #: The runs: what was chosen for them, and their names, which hold as long as the code they use stays as it is.
    runs: str = ""
    run_ids: tuple[str, ...] = ()
    attentest: str = ""
    torch: str = ""
    device: str = ""

    @property
    def settled(self) -> bool:
        """Whether a run was compared with the claim."""
        return self.status in ("agrees", "differs", "unsettled")


@dataclass(frozen=True)
class Rate:
    """How many of the compared claims agree, and how many no interval settles."""

    agree: int
    compared: int
    unsettled: int = 0

    def __str__(self) -> str:
        if not self.compared:
            return "none compared"
        return f"{self.agree:,} of {self.compared:,} agree" + (f", {self.unsettled:,} unsettled" * bool(self.unsettled))


def rate(outcomes: Iterable[Outcome], *, like_for_like: bool = True) -> Rate:
    """The agreement rate over the like-for-like outcomes, or over the others; recalled claims are in neither."""
    compared = _compared(outcomes, like_for_like)
    agree, unsettled = (sum(outcome.status == status for outcome in compared) for status in ("agrees", "unsettled"))
    return Rate(agree, len(compared), unsettled)


def chance(outcomes: Iterable[Outcome], rules: Rules, *, like_for_like: bool = True) -> Chance | None:
    """What the rate of these figures is worth; directions have no values to shuffle."""
    measures: dict[str, list[tuple[float, float, Interval]]] = {}
    for outcome in _compared(outcomes, like_for_like):
        claim = outcome.claim
        if isinstance(claim, Claim):
            tolerance = rules.measure(claim.measure, claim.group).tolerance
            ours = Interval(outcome.ours, outcome.low, outcome.high)
            measures.setdefault(claim.measure, []).append((claim.value, tolerance, ours))
    return by_chance(measures.values())


def _compared(outcomes: Iterable[Outcome], like_for_like: bool) -> list[Outcome]:
    return [o for o in outcomes if o.settled and o.claim.counts and o.like_for_like == like_for_like]


def evaluate(paper: str, cells: Sequence[Cell] = (), evidence: Evidence | None = None) -> list[Outcome]:
    """Every claim of a paper, directions first, beside what these cells say; ``evidence`` notes what is read."""
    claims = load_claims(paper)
    judge = _Judge(claims, grouped(cells), evidence)
    # Corpus by corpus, because resamples are kept for the last corpora only.
    found = {claim.key: judge.judged(claim) for claim in sorted(claims.every, key=lambda claim: claim.corpus)}
    return [found[claim.key] for claim in claims.every]


class _Judge:
    """Compares one claim after the other, reading findings once."""

    def __init__(self, claims: Claims, groups: Sequence[Group], evidence: Evidence | None) -> None:
        self.rules = claims.rules
        self.groups = groups
        self.finder = Finder(claims.rules, groups, evidence)
        self.evidence = self.finder.evidence

    def judged(self, claim: Claim | Direction) -> Outcome:
        """The outcome of any claim."""
        return self.figure(claim) if isinstance(claim, Claim) else self.direction(claim)

    def figure(self, claim: Claim) -> Outcome:
        """One figure: agrees when its whole interval lies within the measure's tolerance."""
        rule = self.rules.measure(claim.measure, claim.group)
        if not claim.printed:
            return Outcome(claim, "unavailable", reason=NO_VALUE)
        if rule.count:
            return self._count(claim, rule)
        side = Side(claim.measure, claim.model, claim.attention, claim.group)
        found = self.finder.find(claim.corpus, side)
        if isinstance(found, str):
            return self._absent(claim, found, claim.corpus, side)
        sample = found.sample
        outcome = replace(
            _of(claim, found.match),
            ours=found.interval.value,
            low=found.interval.low,
            high=found.interval.high,
            interval=_way(found.interval, [(1.0, found.per_seed)]),
            spread=sample.spread * rule.scale,
            seed_low=min(found.per_seed),
            seed_high=max(found.per_seed),
            judged=sample.judged,
            not_judged=sample.not_judged,
            also=self._also(claim, rule, found.match.group),
        )
        return self._compared(claim, rule, outcome, corpus_text(found.match.group))

    def _count(self, claim: Claim, rule: MeasureRule) -> Outcome:
        corpus = self.rules.corpora[claim.corpus]
        match = best(self.groups, self.rules, claim.corpus, "", "", "") if corpus.name else None
        if match is None:
            return self._absent(claim, "", claim.corpus, Side(claim.measure))
        value = self.evidence.count(match.group, rule, corpus, claim.group)
        if value is None:  # as of sentences, which only runs that read them count
            counts = [self.evidence.count(group, rule, corpus, claim.group) for group in self.groups]
            those = [group for group, found in zip(self.groups, counts, strict=True) if found is not None]
            match = best(those, self.rules, claim.corpus, "", "", "")
            if match is None:
                return Outcome(claim, "not run", reason="its runs do not count this (corpus.json)")
            value = self.evidence.count(match.group, rule, corpus, claim.group)
            assert value is not None
        texts = tuple(data_differences(match.group, corpus))
        outcome = replace(_of(claim, Match(match.group, texts)), ours=value * rule.scale, seeds=())
        return self._compared(claim, rule, outcome, corpus_text(match.group))

    def _compared(self, claim: Claim, rule: MeasureRule, outcome: Outcome, form: str) -> Outcome:
        notes = [note for note in self.rules.own.notes if note.about(claim, form)]
        parts = [outcome.difference, *(note.words for note in notes if not note.like_for_like)]
        parts += [RECALLED] if claim.recalled else []
        unlike = "; ".join(part for part in parts if part)
        status = of_figure(claim.value, rule.tolerance, Interval(outcome.ours, outcome.low, outcome.high))
        known = "" if status == "agrees" else "; ".join(note.words for note in notes if note.like_for_like)
        return replace(outcome, status=status, difference=unlike, like_for_like=not unlike, reason=known)

    def direction(self, claim: Direction) -> Outcome:
        """One conclusion: agrees when the whole interval lies on its side."""
        rule = claim.rule
        if rule.left is None:
            return self._absent(claim, "", claim.corpus, None)
        own = self.rules.own.conclusions.get(rule.name)
        compared = self._sides(claim, rule.left) if own is None else own(self.finder, rule, claim.key)
        if isinstance(compared, Outcome):
            return compared
        if isinstance(compared, str):
            return self._absent(claim, compared, claim.corpus, rule.left)
        return _directed(claim, compared)

    def _sides(self, claim: Direction, side: Side) -> Compared | Outcome:
        """One measure beside a mark or another measure, or the outcome where a side is not there."""
        rule = claim.rule
        left = self.finder.find(claim.corpus, side)
        if isinstance(left, str):
            return self._absent(claim, left, claim.corpus, side)
        match, judged, not_judged = left.match, left.sample.judged, left.sample.not_judged
        if rule.right is None:
            mark = float(rule.value or 0.0)
            own = left.interval
            gap = Interval(own.value - mark, own.low - mark, own.high - mark)
            also = f"{in_digits(own.value)} against the mark {mark:g}"
            parts: Parts = [(1.0, left.per_seed)]
        else:
            right = self.finder.find(claim.corpus, rule.right)
            if isinstance(right, str):
                return self._absent(claim, right, claim.corpus, rule.right)
            gap, parts = _gap(left, right, claim.key), _parts(left, right)
            also = f"{in_digits(left.interval.value)} against {in_digits(right.interval.value)}"
            match = _both(left.match, right.match)
            judged, not_judged = min(judged, right.sample.judged), max(not_judged, right.sample.not_judged)
        return Compared(match, gap, parts, also, judged, not_judged)

    def _also(self, claim: Claim, rule: MeasureRule, group: Group) -> str:
        """The other measures that a rule wants to be read beside it."""
        parts = []
        for name in rule.also:
            other = self.rules.measures[name]
            if not group.has(other.challenge):
                continue
            sample = self.evidence.sample(group, other, claim.group)
            if sample is not None:
                parts.append(f"{other.words} {float(np.mean(sample.per_seed)) * other.scale:.3f}")
        return ", ".join(parts)

    def _absent(self, claim: Claim | Direction, why: str, corpus: str, side: Side | None) -> Outcome:
        """No figure of ours: what is unavailable comes before what was not run."""
        rules = self.rules
        named: list[CorpusRule | NameRule | MeasureRule | DirectionRule] = []
        named += [claim.rule] if isinstance(claim, Direction) else []
        named += [rules.corpora[corpus]] if corpus else []
        if side is not None:
            named += [rules.models[side.model]] if side.model else []
            named += [rules.attentions[side.attention]] if side.attention else []
            named += [rules.measure(side.measure, side.group)]
        missing = dict.fromkeys(said for rule in named if (said := getattr(rule, "missing", "")))
        if missing:
            return Outcome(claim, "unavailable", reason="; ".join(missing))
        reasons = [why] if why else list(dict.fromkeys(rule.reason for rule in named if rule.reason))
        if corpus and side is not None and side.model in rules.corpora[corpus].without:
            reasons = [rules.corpora[corpus].without[side.model]]
        return Outcome(claim, "not run", reason="; ".join(reasons) or rules.not_run)


def _of(claim: Claim | Direction, match: Match) -> Outcome:
    """What every outcome of these runs says about them."""
    group = match.group
    return Outcome(
        claim,
        "unsettled",
        seeds=tuple(sorted(set(group.seeds))),
        like_for_like=not match.differences,
        difference="; ".join(match.differences),
        runs=group.in_words,
        run_ids=group.run_ids,
        attentest=group.made_with("attentest"),
        torch=group.made_with("torch"),
        device=group.made_with("device"),
    )


def _both(left: Match, right: Match) -> Match:
    """Both sides of a direction as one: their runs and all their differences."""
    if left.group == right.group:
        return left
    words = dict.fromkeys((*left.differences, *right.differences))
    return Match(Group((*left.group.cells, *right.group.cells)), tuple(words))


def _gap(left: Found, right: Found, key: str) -> Interval:
    """left − right in the paper's unit, on the same resampled instances."""
    # Two measures of one direction may differ in the sign of their scale: what is lost, and what is gained.
    other = right.sample if left.scale == right.scale else rescaled(right.sample, right.scale / left.scale)
    return scaled(difference(left.sample, other, key, same_model=left.match.group == right.match.group), left.scale)


def _parts(left: Found, right: Found) -> Parts:
    """The figures of every seed whose means make left − right; seeds of one model are paired."""
    if left.match.group == right.match.group:
        return [(1.0, tuple(np.subtract(left.per_seed, right.per_seed)))]
    return [(1.0, left.per_seed), (-1.0, right.per_seed)]


def _directed(claim: Direction, compared: Compared) -> Outcome:
    """A conclusion beside our difference of its two sides."""
    match, gap = compared.match, wider(compared.gap, compared.parts)
    if claim.recalled:
        match = Match(match.group, (*match.differences, RECALLED))
    return replace(
        _of(claim, match),
        status="unsettled" if compared.few else of_direction(gap, claim.rule.sense, claim.rule.margin),
        reason=compared.few,
        ours=gap.value,
        low=gap.low,
        high=gap.high,
        interval=_way(gap, compared.parts),
        judged=compared.judged,
        not_judged=compared.not_judged,
        also=compared.also,
    )


def _way(own: Interval, parts: Parts) -> Way:
    """How an interval is made: with one seed, or one without a figure, there is no Student's t over seeds."""
    if math.isnan(own.low) or math.isnan(own.high):
        return ""
    return "bootstrap" if math.isnan(half_width(parts)) else "wider"

"""Outcomes: every claim beside what our runs say; a miss is a miss."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from attentest.papers.claims import Claim, Claims, Direction, load_claims
from attentest.papers.evidence import Cell, Evidence, Group, grouped
from attentest.papers.matching import Match, best, challenge_difference, corpus_text, data_differences
from attentest.papers.resampling import Interval, Sample, difference, interval
from attentest.papers.rules import CorpusRule, DirectionRule, MeasureRule, NameRule, Sense, Side

__all__ = ["STATUSES", "Outcome", "Rate", "Status", "evaluate", "rate"]

Status = Literal["agrees", "differs", "unsettled", "not run", "cannot be had"]
STATUSES: tuple[Status, ...] = ("agrees", "differs", "unsettled", "not run", "cannot be had")
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
    """How many of the compared claims agree."""

    agree: int
    compared: int

    def __str__(self) -> str:
        return f"{self.agree:,} of {self.compared:,} agree" if self.compared else "none compared"


def rate(outcomes: Iterable[Outcome], *, like_for_like: bool = True) -> Rate:
    """The agreement rate over the like-for-like outcomes, or over the others; recalled claims are in neither."""
    known = [outcome for outcome in outcomes if outcome.settled and not outcome.claim.recalled]
    compared = [outcome for outcome in known if outcome.like_for_like == like_for_like]
    return Rate(sum(outcome.status == "agrees" for outcome in compared), len(compared))


def evaluate(paper: str, cells: Sequence[Cell] = ()) -> list[Outcome]:
    """Every claim of a paper, directions first, beside what these finished cells say."""
    claims = load_claims(paper)
    judge = _Judge(claims, grouped(cells))
    # Corpus by corpus, because resamples are kept for the last corpora only.
    found = {claim.key: judge.judged(claim) for claim in sorted(claims.every, key=lambda claim: claim.corpus)}
    return [found[claim.key] for claim in claims.every]


@dataclass(frozen=True)
class _Found:
    """A measure as our runs have it, in the paper's unit."""

    measure: str
    match: Match
    sample: Sample
    interval: Interval
    per_seed: tuple[float, ...]
    scale: float


class _Judge:
    """Compares one claim after the other, reading findings once."""

    def __init__(self, claims: Claims, groups: Sequence[Group]) -> None:
        self.rules = claims.rules
        self.groups = groups
        self.evidence = Evidence()
        self._found: dict[tuple[str, Side], _Found | str] = {}

    def judged(self, claim: Claim | Direction) -> Outcome:
        """The outcome of any claim."""
        return self.figure(claim) if isinstance(claim, Claim) else self.direction(claim)

    def figure(self, claim: Claim) -> Outcome:
        """One figure: agrees when ours lies within the measure's tolerance."""
        rule = self.rules.measures[claim.measure]
        if not claim.printed:
            return Outcome(claim, "cannot be had", reason=NO_VALUE)
        if rule.count:
            return self._count(claim, rule)
        side = Side(claim.measure, claim.model, claim.attention, claim.group)
        found = self._find(claim.corpus, side)
        if isinstance(found, str):
            return self._absent(claim, found, claim.corpus, side)
        sample = found.sample
        outcome = replace(
            _of(claim, found.match),
            ours=found.interval.value,
            low=found.interval.low,
            high=found.interval.high,
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
        if value is None:
            return Outcome(claim, "not run", reason="its runs keep no counts of the corpus (corpus.json)")
        texts = tuple(data_differences(match.group, corpus))
        outcome = replace(_of(claim, Match(match.group, texts)), ours=value * rule.scale, seeds=())
        return self._compared(claim, rule, outcome, corpus_text(match.group))

    def _compared(self, claim: Claim, rule: MeasureRule, outcome: Outcome, form: str) -> Outcome:
        notes = [note for note in self.rules.notes if note.about(claim, form)]
        parts = [outcome.difference, *(note.words for note in notes if not note.like_for_like)]
        parts += [RECALLED] if claim.recalled else []
        unlike = "; ".join(part for part in parts if part)
        # Figures are printed in decimals: a difference of exactly the tolerance must not fail by rounding.
        agrees = abs(outcome.ours - claim.value) <= rule.tolerance + 1e-9
        known = "" if agrees else "; ".join(note.words for note in notes if note.like_for_like)
        status: Status = "agrees" if agrees else "differs"
        return replace(outcome, status=status, difference=unlike, like_for_like=not unlike, reason=known)

    def direction(self, claim: Direction) -> Outcome:
        """One conclusion: agrees when the whole interval lies on its side."""
        rule = claim.rule
        if rule.left is None:
            return self._absent(claim, "", claim.corpus, None)
        left = self._find(claim.corpus, rule.left)
        if isinstance(left, str):
            return self._absent(claim, left, claim.corpus, rule.left)
        match, judged, not_judged = left.match, left.sample.judged, left.sample.not_judged
        if rule.right is None:
            mark = float(rule.value or 0.0)
            own = left.interval
            gap = Interval(own.value - mark, own.low - mark, own.high - mark)
            also = f"{_figure(own.value)} against the mark {mark:g}"
        else:
            right = self._find(claim.corpus, rule.right)
            if isinstance(right, str):
                return self._absent(claim, right, claim.corpus, rule.right)
            gap = _gap(left, right, claim.key)
            also = f"{_figure(left.interval.value)} against {_figure(right.interval.value)}"
            match = _both(left.match, right.match)
            judged, not_judged = min(judged, right.sample.judged), max(not_judged, right.sample.not_judged)
        if claim.recalled:
            match = Match(match.group, (*match.differences, RECALLED))
        return replace(
            _of(claim, match),
            status=_side(gap, rule.sense, rule.margin),
            ours=gap.value,
            low=gap.low,
            high=gap.high,
            judged=judged,
            not_judged=not_judged,
            also=also,
        )

    def _find(self, corpus: str, side: Side) -> _Found | str:
        """The runs and the numbers of a measure, or why there are none."""
        if (corpus, side) not in self._found:
            self._found[corpus, side] = self._look(corpus, side)
        return self._found[corpus, side]

    def _look(self, corpus: str, side: Side) -> _Found | str:
        rule = self.rules.measures[side.measure]
        names = [self.rules.corpora[corpus].name, rule.challenge]
        names += [self.rules.models[side.model].name] if side.model else []
        names += [self.rules.attentions[side.attention].name] if side.attention else []
        if not all(names):
            return ""
        match = best(self.groups, self.rules, corpus, side.model, side.attention, rule.challenge)
        if match is None:
            there = best(self.groups, self.rules, corpus, side.model, side.attention, "")
            return "" if there is None else f"its runs have no finished {rule.challenge}"
        group = match.group
        within = self.rules.measures[rule.within] if rule.within else None
        if within is not None and not group.has(within.challenge):
            return f"its runs have no finished {within.challenge}"
        sample = self.evidence.sample(group, rule, side.group, within)
        if sample is None:
            return "no text of this group could be judged"
        own = interval(sample, " | ".join((*group.run_ids, side.measure, side.group)))
        scaled = Interval(own.value * rule.scale, own.low * rule.scale, own.high * rule.scale)
        run = self.evidence.challenge_text(group, rule.challenge)
        match = Match(group, (*match.differences, *challenge_difference(rule.challenge, run, self.rules)))
        each = tuple(float(figure) * rule.scale for figure in sample.per_seed)
        return _Found(side.measure, match, sample, scaled, each, rule.scale)

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
        """No figure of ours: what cannot be had comes before what was not run."""
        rules = self.rules
        named: list[CorpusRule | NameRule | MeasureRule | DirectionRule] = []
        named += [claim.rule] if isinstance(claim, Direction) else []
        named += [rules.corpora[corpus]] if corpus else []
        if side is not None:
            named += [rules.models[side.model]] if side.model else []
            named += [rules.attentions[side.attention]] if side.attention else []
            named += [rules.measures[side.measure]]
        missing = dict.fromkeys(rule.missing for rule in named if rule.missing)
        if missing:
            return Outcome(claim, "cannot be had", reason="; ".join(missing))
        reasons = [why] if why else list(dict.fromkeys(rule.reason for rule in named if rule.reason))
        return Outcome(claim, "not run", reason="; ".join(reasons) or rules.not_run)


def _figure(value: float) -> str:
    return "not reached" if math.isnan(value) else f"{value:.3f}"


def _of(claim: Claim | Direction, match: Match) -> Outcome:
    """What every outcome of these runs says about them."""
    group = match.group
    return Outcome(
        claim,
        "unsettled",
        seeds=tuple(sorted(set(group.seeds))),
        like_for_like=not match.differences,
        difference="; ".join(match.differences),
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


def _gap(left: _Found, right: _Found, key: str) -> Interval:
    """left − right in the paper's unit, on the same resampled instances."""
    own = difference(left.sample, right.sample, key, same_model=left.match.group == right.match.group)
    return Interval(own.value * left.scale, own.low * left.scale, own.high * left.scale)


def _side(gap: Interval, sense: Sense, margin: float) -> Status:
    """On which side of the conclusion the whole interval lies."""
    low, high = (-gap.high, -gap.low) if sense == "lower" else (gap.low, gap.high)
    if math.isnan(low) or math.isnan(high):
        return "unsettled"
    if sense == "near":
        if -margin <= low and high <= margin:
            return "agrees"
        return "differs" if low > margin or high < -margin else "unsettled"
    if low > 0:
        return "agrees"
    return "differs" if high < 0 else "unsettled"

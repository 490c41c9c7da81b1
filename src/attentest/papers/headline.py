"""The table that comes first: published figures, ours, and ours with a control, each with its interval over seeds.

The control differs from the paper's model in one thing, so that what changes with it is about that thing.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attentest.errors import InputError
from attentest.papers import paper as paper_named
from attentest.papers.claims import Claim, Claims, load_claims
from attentest.papers.evidence import Cell, grouped
from attentest.papers.finding import Finder
from attentest.papers.rules import Control, HeadlineRule, Side
from attentest.store.atomic import write_text

__all__ = ["Headline", "OverSeeds", "Row", "Share", "committed_headline", "headline", "read_headline", "write_headline"]

HEADLINE = "headline.csv"
#: The 97.5 % quantiles of Student's t with 1, 2, … degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
#: With fewer seeds there is no interval over seeds.
FEWEST = 3
#: What the paper's own models are called in the column ``head`` of the file.
OWN = "paper"
COLUMNS = (
    *("paper", "table", "corpus", "model", "measure", "group", "published"),
    *("head", "ours", "low", "high", "seeds", "per_seed", "run_ids"),
)


@dataclass(frozen=True)
class OverSeeds:
    """A figure of every seed; its mean has a 95 % interval by Student's t."""

    seeds: tuple[int, ...]
    figures: tuple[float, ...]
    run_ids: tuple[str, ...] = ()

    @property
    def value(self) -> float:
        """The mean over seeds."""
        return float(np.mean(self.figures))

    @property
    def half(self) -> float:
        """Half the width of the interval; not a number with fewer than three seeds."""
        return self.half_with(len(self.figures))

    def half_with(self, count: int) -> float:
        """The same with the degrees of freedom of so many seeds."""
        if count < FEWEST:
            return math.nan
        quantile = STUDENT[count - 2] if count - 2 < len(STUDENT) else 1.96
        return quantile * float(np.std(self.figures, ddof=1)) / math.sqrt(len(self.figures))

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.value - self.half

    @property
    def high(self) -> float:
        """Its upper end."""
        return self.value + self.half


@dataclass(frozen=True)
class Share:
    """How much of a loss a control does away with, by Fieller's interval for the ratio of two means.

    Models of the two sides share nothing but the number of their seed, so seeds are not paired.
    """

    own: OverSeeds
    control: OverSeeds

    @property
    def lost(self) -> bool:
        """Whether there is a loss at all: the whole interval of the paper's model lies below zero."""
        return self.own.high < 0

    @property
    def value(self) -> float:
        """One less the ratio of the two losses."""
        return 1 - self.control.value / self.own.value

    @property
    def low(self) -> float:
        """The lower end of its 95 % interval."""
        return 1 - max(self._ends)

    @property
    def high(self) -> float:
        """Its upper end."""
        return 1 - min(self._ends)

    @property
    def words(self) -> str:
        """The share with its interval, or that there is no loss it could be a share of."""
        if not self.lost:
            return "an unknown share"
        low = "below -100" if self.low < -1 else f"{100 * self.low:.0f}"
        return f"{100 * self.value:.0f} % [{low}, {100 * self.high:.0f}]".replace("-", "−")

    @property
    def meaning(self) -> str:
        """what most of the loss is about; the whole interval decides."""
        if not self.lost:
            return "whether anything is lost is open"
        if self.low > 0.5:
            return "most of the loss is about wiring"
        return "most of the loss is about attention" if self.high < 0.5 else "what most of the loss is about is open"

    @property
    def _ends(self) -> tuple[float, float]:
        """The ends for the ratio; with the fewer degrees of freedom of the two, which errs on the wide side."""
        if not self.lost:
            return math.nan, math.nan
        fewer = min(len(self.own.figures), len(self.control.figures))
        own, control = (one.half_with(fewer) for one in (self.own, self.control))
        ratio, spread = self.control.value / self.own.value, (own / self.own.value) ** 2
        if not spread < 1:
            return -math.inf, math.inf
        within = control**2 * (1 - spread) + (ratio * own) ** 2
        half = math.sqrt(within) / abs(self.own.value)
        return (ratio - half) / (1 - spread), (ratio + half) / (1 - spread)


@dataclass(frozen=True)
class Row:
    """One published figure, ours, and ours with every control; None where there is no run of it."""

    claim: Claim
    ours: OverSeeds | None
    controls: tuple[OverSeeds | None, ...]


@dataclass(frozen=True)
class Headline:
    """The whole table."""

    rule: HeadlineRule
    rows: tuple[Row, ...]

    def sentences(self) -> list[str]:
        """What the numbers mean, computed from them: how much of the loss a control does away with."""
        found = [
            words
            for corpus in dict.fromkeys(row.claim.corpus for row in self.rows)
            for position, control in enumerate(self.rule.controls)
            if (words := self._sentence(corpus, position, control))
        ]
        return found or ["No control has been run beside the paper's models yet, so nothing can be said about wiring."]

    def _sentence(self, corpus: str, position: int, control: Control) -> str:
        """What a control does on one corpus, for every way of altering weights."""
        shares = {
            name: Share(*pair)
            for name, groups in self.rule.read.items()
            if (pair := self._pair(corpus, groups, position))
        }
        if not shares:
            return ""
        if not any(share.lost for share in shares.values()):
            return f"{corpus}, {control.name}: seeds differ too much, or are too few, to say that anything is lost."
        parts = ", ".join(f"{share.words} ({name})" for name, share in shares.items())
        return f"{corpus}, {control.name}: {_meaning(shares)}. Gone once the head sees the query: {parts}."

    def _pair(self, corpus: str, groups: Sequence[str], position: int) -> tuple[OverSeeds, OverSeeds] | None:
        """Some figures of a corpus averaged for every seed, the paper's model and the control; None where one lacks."""
        both = [
            (row.ours, other)
            for row in self.rows
            if row.claim.corpus == corpus and row.claim.group in groups and row.ours is not None
            if (other := row.controls[position]) is not None
        ]
        if not both:
            return None
        own, with_control = (_averaged([pair[side] for pair in both]) for side in (0, 1))
        return (own, with_control) if own.seeds and with_control.seeds else None


def _averaged(each: Sequence[OverSeeds]) -> OverSeeds:
    """The mean over figures, for every seed that all of them have."""
    seeds = sorted(set.intersection(*(set(one.seeds) for one in each)))
    figures = [[one.figures[one.seeds.index(seed)] for seed in seeds] for one in each]
    return OverSeeds(tuple(seeds), tuple(float(mean) for mean in np.mean(figures, axis=0)))


def _meaning(shares: Mapping[str, Share]) -> str:
    """What the loss is mostly about; said of every way of altering weights where they are not all the same."""
    found: dict[str, list[str]] = {}
    for name, share in shares.items():
        found.setdefault(share.meaning, []).append(name)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(f"{meaning} ({', '.join(names)})" for meaning, names in found.items())


def headline(name: str, cells: Sequence[Cell]) -> Headline | None:
    """The paper's table from finished cells; None where the paper has none."""
    claims = load_claims(name)
    rule = claims.rules.headline
    if rule is None:
        return None
    finder = Finder(claims.rules, grouped(cells))

    def found(claim: Claim, control: Control | None) -> OverSeeds | None:
        side = Side(claim.measure, claim.model, claim.attention, claim.group)
        one = finder.find(claim.corpus, side, None if control is None else control.choices)
        if isinstance(one, str):
            return None
        group = one.match.group
        return OverSeeds(group.seeds, one.per_seed, group.run_ids)

    rows = [
        Row(claim, found(claim, None), tuple(found(claim, control) for control in rule.controls))
        for claim in _listed(claims, rule)
    ]
    return Headline(rule, tuple(rows))


def _listed(claims: Claims, rule: HeadlineRule) -> list[Claim]:
    """The figures of the table, those of a corpus and model together."""
    chosen = [claim for claim in claims.figures if claim.measure in rule.measures]
    places = {key: i for i, key in enumerate(dict.fromkeys((c.table, c.corpus, c.model) for c in chosen))}
    return sorted(chosen, key=lambda claim: places[claim.table, claim.corpus, claim.model])


def write_headline(path: Path, made: Headline) -> None:
    """A row for every figure and head that has runs, in CSV; the same table gives the same bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in made.rows:
        claim = row.claim
        about = (claim.paper, claim.table, claim.corpus, claim.model, claim.measure, claim.group, claim.printed)
        heads = (OWN, *(control.name for control in made.rule.controls))
        for head, one in zip(heads, (row.ours, *row.controls), strict=True):
            if one is not None:
                numbers = [_digits(value) for value in (one.value, one.low, one.high)]
                seeds, each = " ".join(map(str, one.seeds)), " ".join(map(_digits, one.figures))
                writer.writerow((*about, head, *numbers, seeds, each, " ".join(one.run_ids)))
    write_text(path, text.getvalue())


def _digits(value: float) -> str:
    """Four digits behind the point; no number is an empty cell."""
    return f"{value:.4f}".replace("-0.0000", "0.0000") if math.isfinite(value) else ""


def read_headline(text: str, file: str, claims: Claims) -> Headline:
    """The table from a file's text."""
    rule = claims.rules.headline
    reader = csv.DictReader(io.StringIO(text))
    if rule is None or tuple(reader.fieldnames or ()) != COLUMNS:
        raise InputError(f"{file} is not a headline table: it must begin with {','.join(COLUMNS[:4])},….")
    found: dict[tuple[str, ...], OverSeeds] = {}
    for line in reader:
        try:
            one = OverSeeds(
                tuple(map(int, line["seeds"].split())),
                tuple(map(float, line["per_seed"].split())),
                tuple(line["run_ids"].split()),
            )
        except ValueError as error:
            raise InputError(f"{file}, line {reader.line_num}: a number cannot be read ({error}).") from error
        found[*(line[name] for name in ("table", "corpus", "model", "measure", "group", "head")),] = one
    heads = (OWN, *(control.name for control in rule.controls))

    def row(claim: Claim) -> Row:
        about = (claim.table, claim.corpus, claim.model, claim.measure, claim.group)
        own, *controls = (found.get((*about, head)) for head in heads)
        return Row(claim, own, tuple(controls))

    return Headline(rule, tuple(row(claim) for claim in _listed(claims, rule)))


def committed_headline(name: str) -> Headline | None:
    """The table that comes with attentest, if the paper has one."""
    source = paper_named(name).folder / HEADLINE
    if not source.is_file():
        return None
    return read_headline(source.read_text("utf-8"), f"papers/{name}/{HEADLINE}", load_claims(name))

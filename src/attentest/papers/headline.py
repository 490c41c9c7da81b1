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
from attentest.papers import PAPERS
from attentest.papers.claims import Claim, Claims, load_claims
from attentest.papers.evidence import Cell, grouped
from attentest.papers.finding import Finder
from attentest.papers.rules import Control, HeadlineRule, Second, Side
from attentest.statistics.seeds import OverSeeds, Share
from attentest.store.atomic import write_text

__all__ = ["Headline", "Row", "committed_headline", "headline", "read_headline", "write_headline"]

HEADLINE = "headline.csv"
#: A score within so many points of chance is called chance.
AT_CHANCE = 2.0
#: What the paper's own models are called in the column ``head`` of the file.
OWN = "paper"
COLUMNS = (
    *("paper", "table", "corpus", "model", "measure", "group", "published"),
    *("head", "ours", "low", "high", "seeds", "per_seed", "run_ids"),
)


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
        """What a control does on one corpus, for every way of altering weights, and how much it could have lost."""
        shares = {
            name: Share(*pair)
            for name, groups in self.rule.read.items()
            if (pair := self._pair(corpus, groups, position))
        }
        if not shares:
            return ""
        room = self._room(corpus, position)
        if not any(share.lost for share in shares.values()):
            said = f"{corpus}, {control.name}: seeds differ too much, or are too few, to say that anything is lost."
            return f"{said} {room}".strip()
        parts = ", ".join(f"{share.words} ({name})" for name, share in shares.items())
        means = f"{_meaning(shares)}. Gone once the head sees {self._second(corpus).words}: {parts}."
        return " ".join(filter(None, (f"{corpus}, {control.name}:", self._end(corpus, position), means, room)))

    def _end(self, corpus: str, position: int) -> str:
        """Where the paper's model ends without attention, where that is chance."""
        second = self._second(corpus)
        score, lost = (self._row(corpus, group, position) for group in ("", self.rule.without))
        if score is None or score.ours is None or lost is None or lost.ours is None:
            return ""
        end = score.ours.value + lost.ours.value
        if abs(end - second.chance) > AT_CHANCE:
            return ""
        return f"the paper's model ends at chance ({end:.1f} %), because its head cannot see {second.words};"

    def _room(self, corpus: str, position: int) -> str:
        """How much the control could lose: what it is short of when it is trained without attention."""
        groups = ("", self.rule.without, self.rule.altered)
        score, lost, altered = (_control(self._row(corpus, group, position), position) for group in groups)
        if score is None or lost is None or altered is None:
            return ""
        little = -lost.value <= self.rule.little
        said = (
            f"With a head that sees {self._second(corpus).words}, {'only ' if little else ''}{_points(lost)} points "
            f"can be lost without attention ({score.value:.1f} to {score.value + lost.value:.1f} %), "
            f"and {_points(altered)} are at inference"
        )
        if not little:
            return f"{said}."
        sure = "" if lost.low >= -self.rule.little else ", as far as the seeds tell"
        return f"{said}: little room{sure}, which cannot show attention to matter here."

    def _second(self, corpus: str) -> Second:
        return self.rule.second.get(corpus, Second())

    def _row(self, corpus: str, group: str, position: int) -> Row | None:
        """The figure of a corpus that a control has; the model's own score has no group."""
        found = (row for row in self.rows if (row.claim.corpus, row.claim.group) == (corpus, group))
        return next((row for row in found if row.controls[position] is not None), None)

    def _pair(self, corpus: str, groups: Sequence[str], position: int) -> tuple[OverSeeds, OverSeeds] | None:
        """What the paper's model and the control lose of their score above chance, averaged over some figures.

        In points a control that knows more would seem to lose more. None where one of the two is not there.
        """
        rows = [row for group in groups if (row := self._row(corpus, group, position)) is not None]
        score = self._row(corpus, "", position)
        both = [(row.ours, other) for row in rows if (other := row.controls[position]) and row.ours]
        if not both or score is None or score.ours is None:
            return None
        chance = self._second(corpus).chance
        scores = (score.ours, score.controls[position] or score.ours)
        own, with_control = (_averaged([pair[side].above(chance, scores[side]) for pair in both]) for side in (0, 1))
        return (own, with_control) if own.seeds and with_control.seeds else None


def _control(row: Row | None, position: int) -> OverSeeds | None:
    return None if row is None else row.controls[position]


def _points(lost: OverSeeds) -> str:
    """A loss, with its interval over seeds where there is one."""
    half = "" if math.isnan(lost.half) else f" ± {lost.half:.1f}"
    return f"{-lost.value:.1f}{half}".replace("-", "−")


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
    text = PAPERS[name].text(HEADLINE)
    return None if text is None else read_headline(text, f"papers/{name}/{HEADLINE}", load_claims(name))

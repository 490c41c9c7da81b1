"""The table that comes first: published figures, ours, and ours with a control, each with its interval over seeds.

The control differs from the paper's model in one thing, so that what changes with it is about that thing.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from attentest.errors import InputError
from attentest.papers import PAPERS
from attentest.papers.claims import Claim, Claims, load_claims
from attentest.papers.evidence import Cell, Evidence, grouped
from attentest.papers.finding import Finder
from attentest.papers.rules import Side
from attentest.statistics.seeds import OverSeeds
from attentest.store.atomic import write_text

__all__ = [
    "Control",
    "Headline",
    "HeadlineRule",
    "Row",
    "Second",
    "committed_headline",
    "headline",
    "read_headline",
    "write_headline",
]

HEADLINE = "headline.csv"
#: What the paper's own models are called in the column ``head`` of the file.
OWN = "paper"
COLUMNS = (
    *("paper", "table", "corpus", "model", "measure", "group", "published"),
    *("head", "ours", "low", "high", "seeds", "per_seed", "run_ids"),
)


@dataclass(frozen=True)
class Control:
    """A model that the paper does not have, to set beside its own, from which it differs in these choices."""

    name: str
    words: str
    choices: Mapping[str, str]


@dataclass(frozen=True)
class Second:
    """The second text of a corpus, which a control's head sees."""

    words: str = "the query"
    #: How often the commonest answer is right, in the unit of the scores.
    chance: float = 0.0


@dataclass(frozen=True)
class HeadlineRule:
    """The table that comes first: some figures, ours, and ours with a control, which is in no rate."""

    title: str
    #: What the paper's own models are called beside the controls.
    words: str
    measures: tuple[str, ...]
    controls: tuple[Control, ...] = ()
    #: The groups of figures that are read together in words: {"training without attention": [...]}.
    read: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: The groups that say how much a control can lose: trained without attention, and altered at inference only.
    without: str = ""
    altered: str = ""
    #: A control that loses no more than this when it is trained without attention has little room to lose any.
    little: float = 5.0
    second: Mapping[str, Second] = field(default_factory=dict)


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


def headline(name: str, cells: Sequence[Cell], evidence: Evidence | None = None) -> Headline | None:
    """The paper's table from finished cells; None where the paper has none. ``evidence`` notes what is read."""
    claims = load_claims(name)
    rule = claims.rules.own.headline
    if rule is None:
        return None
    finder = Finder(claims.rules, grouped(cells), evidence)

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
    rule = claims.rules.own.headline
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

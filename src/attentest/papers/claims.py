"""Claims: every figure a paper prints or its authors released, and every direction it concludes."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from attentest.errors import InputError, suggestion
from attentest.papers import PAPERS, Paper
from attentest.papers.rules import DirectionRule, Rules, read_rules

__all__ = ["COLUMNS", "Claim", "Claims", "Direction", "load_claims"]

COLUMNS = ("paper", "table", "dataset", "model", "attention", "measure", "group", "value", "spread", "source")
#: Printed in the paper, released beside its code, or recalled: read in no source at hand, and outside every rate.
SOURCES = ("printed", "released", "recalled")


@dataclass(frozen=True)
class Claim:
    """One published figure, as it is printed."""

    paper: str
    table: str
    corpus: str
    model: str
    attention: str
    measure: str
    group: str
    printed: str
    printed_spread: str
    source: Literal["printed", "released", "recalled"]

    @property
    def key(self) -> str:
        """What makes it one of a kind."""
        parts = (self.paper, self.table, self.corpus, self.model, self.attention, self.measure, self.group, self.source)
        return " | ".join(parts)

    @property
    def recalled(self) -> bool:
        """Whether no source at hand holds it."""
        return self.source == "recalled"

    @property
    def counts(self) -> bool:
        """Whether it is in a rate."""
        return not self.recalled

    @property
    def value(self) -> float:
        """The figure as a number; NaN where the authors' file has none."""
        return float(self.printed) if self.printed else math.nan


@dataclass(frozen=True)
class Direction:
    """One conclusion, for one corpus where it is about corpora."""

    paper: str
    corpus: str
    rule: DirectionRule

    @property
    def table(self) -> str:
        """Where the paper says it."""
        return self.rule.section

    @property
    def recalled(self) -> bool:
        """Whether no source at hand holds it."""
        return self.rule.recalled

    @property
    def counts(self) -> bool:
        """Whether it is in a rate: a sentence of the paper's, about a model of the paper's."""
        return not (self.recalled or self.rule.ours)

    @property
    def key(self) -> str:
        """What makes it one of a kind."""
        return " | ".join((self.paper, "direction", self.rule.name, self.corpus))


@dataclass(frozen=True)
class Claims:
    """All of a paper's claims and the rules they are compared by."""

    paper: Paper
    figures: tuple[Claim, ...]
    directions: tuple[Direction, ...]
    rules: Rules

    @property
    def every(self) -> list[Claim | Direction]:
        """Directions first, then figures, as outcomes stand."""
        return [*self.directions, *self.figures]


def load_claims(name: str) -> Claims:
    """The claims of a paper; every name in its figures has a rule or a reason."""
    paper = PAPERS[name]
    rules = read_rules(paper)
    text = paper.text("claims.csv")
    figures = () if text is None else tuple(read_figures(text, paper, rules))
    directions = tuple(
        Direction(paper.name, corpus, rule) for rule in rules.directions for corpus in (rule.corpora or ("",))
    )
    claims = Claims(paper, figures, directions, rules)
    for key, count in Counter(claim.key for claim in claims.every).items():
        if count > 1:
            raise InputError(f"papers/{paper.name}: {count} claims are called {key!r}; each must be one of a kind.")
    return claims


def read_figures(text: str, paper: Paper, rules: Rules) -> Iterator[Claim]:
    """The rows of claims.csv, each checked."""
    file = f"papers/{paper.name}/claims.csv"
    reader = csv.reader(io.StringIO(text))
    if (header := tuple(next(reader, ()))) != COLUMNS:
        raise InputError(f"{file} begins with {','.join(header)!r}, not {','.join(COLUMNS)!r}.")
    for row in reader:
        where = f"{file}, line {reader.line_num}"
        if len(row) != len(COLUMNS):
            raise InputError(f"{where}: {len(row)} cells, not {len(COLUMNS)}.")
        if row[0] != paper.name:
            raise InputError(f"{where}: paper {row[0]!r} in the folder of {paper.name!r}.")
        if row[-1] not in SOURCES:
            raise InputError(f"{where}: source {row[-1]!r}. {suggestion(row[-1], SOURCES)}")
        for name, cell in zip(COLUMNS[7:9], row[7:9], strict=True):
            try:
                finite = not cell or math.isfinite(float(cell))
            except ValueError:
                finite = False
            if not finite:
                raise InputError(f"{where}: {name} {cell!r} is not a number.")
        for kind, cell, known in (
            ("corpora", row[2], rules.corpora),
            ("models", row[3], rules.models),
            ("attentions", row[4], rules.attentions),
            ("measures", row[5], rules.measures),
        ):
            if cell and cell not in known:
                raise InputError(f"{where}: {cell!r} has no [{kind}.…] in claims.toml. {suggestion(cell, known)}")
        if (measure := rules.measures[row[5]]).computed and not measure.why:
            raise InputError(f"{where}: [measures.{row[5]}] must say why its tolerance is what it is: add 'why'.")
        groups = measure.groups
        if groups and row[6] not in groups:
            raise InputError(f"{where}: {row[6]!r} is no group of [measures.{row[5]}]. {suggestion(row[6], groups)}")
        yield Claim(*row)  # type: ignore[arg-type]

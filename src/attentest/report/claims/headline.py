"""The headline of a paper's claims: published, ours, and ours with a control, for the terminal and the page alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from attentest.papers.headline import Headline, Row
from attentest.presentation.text import visible
from attentest.report.claims.headline_in_words import sentences
from attentest.statistics.seeds import OverSeeds

__all__ = ["HeadlineView", "headline_table"]

#: Below this many columns, a figure takes a line for every head.
NARROW = 76


@dataclass(frozen=True)
class HeadlineView:
    """The rows of the table that have a figure of ours, in words."""

    headline: Headline

    @classmethod
    def of(cls, headline: Headline | None, claims: Iterable[str] | None = None) -> HeadlineView | None:
        """The table, or as much of it as is about these claims; None where nothing of it was run."""
        if headline is None:
            return None
        kept = None if claims is None else set(claims)
        there = [row for row in headline.rows if any(one is not None for one in (row.ours, *row.controls))]
        wanted = {_about(row) for row in there if kept is None or row.claim.key in kept}
        # A change is a share of the score that it is a change of, which therefore stays beside it.
        rows = tuple(
            row
            for row in there
            if kept is None or row.claim.key in kept or (not row.claim.group and _about(row) in wanted)
        )
        return cls(replace(headline, rows=rows)) if rows else None

    @property
    def heads(self) -> list[str]:
        """What the columns of ours are called; heads that nothing was run with have none."""
        return ["ours", *(self.headline.rule.controls[i].name for i in self._controls)]

    @property
    def legend(self) -> list[str]:
        """What stands behind the columns' names."""
        rule = self.headline.rule
        named = [f"{rule.controls[i].name}: ours, with {rule.controls[i].words}" for i in self._controls]
        shares = ["shares of a loss: what each head loses of its accuracy above chance"] if named else []
        return [f"ours: with {rule.words}", *named, *shares]

    @property
    def sentences(self) -> list[str]:
        """What the numbers mean."""
        return sentences(self.headline)

    @property
    def groups(self) -> Iterator[tuple[str, list[Row]]]:
        """The rows by corpus and model."""
        for about, rows in groupby(self.headline.rows, key=_about):
            yield about, list(rows)

    def cells(self, row: Row) -> list[str]:
        """Published, and a figure for every column of ours."""
        spread = f" ± {row.claim.printed_spread}" if row.claim.printed_spread else ""
        published = f"{row.claim.printed}{spread}".replace("-", "−").replace("+", "")
        return [published, *(_figure(one) for one in (row.ours, *(row.controls[i] for i in self._controls)))]

    def name(self, row: Row) -> str:
        """What a row is about: how weights were altered, or the score of the model itself."""
        return row.claim.group or f"{row.claim.measure.upper() if row.claim.measure == 'bleu' else row.claim.measure}"

    @property
    def seeds(self) -> str:
        """How many seeds the figures stand on."""
        counts = sorted({len(one.seeds) for row in self.headline.rows for one in (row.ours, *row.controls) if one})
        words = " to ".join(dict.fromkeys((str(counts[0]), str(counts[-1]))))
        return (
            f"± is the 95 % interval over seeds (Student's t, {words} seeds); none is corrected for how many there are"
        )

    @property
    def _controls(self) -> list[int]:
        each = range(len(self.headline.rule.controls))
        return [i for i in each if any(row.controls[i] is not None for row in self.headline.rows)]


def _about(row: Row) -> str:
    return f"{row.claim.corpus} · {row.claim.model.replace('_', ' ')}"


def _figure(one: OverSeeds | None) -> str:
    if one is None:
        return "–"
    half = "" if math.isnan(one.half) else f" ± {one.half:.1f}"
    text = f"{one.value:.1f}"
    return (text.removeprefix("-") if float(text) == 0 else text).replace("-", "−") + half


def headline_table(view: HeadlineView, width: int = 80) -> Iterator[RenderableType]:
    """The table in the terminal, then what it means."""
    yield Text(visible(view.headline.rule.title), style="bold")
    for words in (*view.legend, view.seeds):
        yield Text(f"  {visible(words)}", style="dim")
    for number, (about, rows) in enumerate(view.groups):
        yield Text(visible(about), style="italic")
        yield _wide(view, rows, head=number == 0) if width >= NARROW else _narrow(view, rows)
    for sentence in view.sentences:
        yield Text(f"→ {visible(sentence)}")


def _wide(view: HeadlineView, rows: list[Row], *, head: bool) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, expand=True, header_style="dim")
    table.show_header = head
    table.add_column("", ratio=1, overflow="fold")
    for title in ("published", *view.heads):
        table.add_column(title, width=13, overflow="fold")
    for row in rows:
        table.add_row(f"  {visible(view.name(row))}", *view.cells(row))
    return table


def _narrow(view: HeadlineView, rows: list[Row]) -> Text:
    lines = []
    for row in rows:
        lines.append(f"  {visible(view.name(row))}")
        named = zip(("published", *view.heads), view.cells(row), strict=True)
        lines += [f"    {head}: {cell}" for head, cell in named if cell != "–"]
    return Text("\n".join(lines))

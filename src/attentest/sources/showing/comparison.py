"""Several models' audits side by side: where their answers came from, and what every reading is worth for each."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from attentest.presentation.text import visible
from attentest.registry import name_in_words
from attentest.sources.auditing import SourcesAudit
from attentest.sources.judging.verdict import Ruling
from attentest.sources.showing.terminal import TONES
from attentest.sources.showing.words import between, headline

__all__ = ["compared", "comparison_csv"]


def compared(audits: Sequence[SourcesAudit]) -> Iterator[RenderableType]:
    """A row for every model; then a row for every method, a column for every model."""
    counts = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("model", "questions", "hang on sources", "known", "none", "planted", "right", "confirmed"):
        counts.add_column(column, justify="left" if column == "model" else "right", overflow="fold")
    for found, name in zip(audits, _names(audits), strict=True):
        a = found.answered
        cells = (a.questions, a.sources, a.known, a.none, a.planted, a.right, a.confirmed)
        counts.add_row(Text(name), *map(str, cells))
    yield counts
    yield Text()
    methods = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("of the largest fall", *_names(audits)):
        methods.add_column(Text(column), overflow="fold")
    for method in dict.fromkeys(ruling.judged.method for found in audits for ruling in found.rulings):
        methods.add_row(name_in_words(method), *(_cell(_of(found, method)) for found in audits))
    yield methods
    for found, name in zip(audits, _names(audits), strict=True):
        yield Text.assemble((f"{name}: ", "bold"), headline(found))


def comparison_csv(audits: Sequence[SourcesAudit]) -> str:
    """Every figure of every model, method and layer."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    figures = ("share", "drop", "drop_two", "lds", "hits", "injected")
    writer.writerow(
        ["model", "audit", "method", "tone", *(f"{each}{part}" for each in figures for part in ("", "_low", "_high")),
         "judged", "passes", "seconds"]
    )  # fmt: skip
    for found, name in zip(audits, _names(audits), strict=True):
        for ruling in (*found.rulings, *found.layers):
            judged = ruling.judged
            numbers = [f"{value:.6g}" for each in figures for value in getattr(judged, each)]
            writer.writerow(
                [name, found.folder.name, judged.method, ruling.tone, *numbers, judged.counts[0],
                 f"{judged.passes:.6g}", f"{judged.seconds:.6g}"]
            )  # fmt: skip
    return out.getvalue()


def _names(audits: Sequence[SourcesAudit]) -> list[str]:
    """The last part of every model's path, or all of it where two would be called the same."""
    short = [Path(found.model).name for found in audits]
    return [
        visible(name if short.count(name) == 1 else found.model, 60) for name, found in zip(short, audits, strict=True)
    ]


def _of(found: SourcesAudit, method: str) -> Ruling | None:
    return next((ruling for ruling in found.rulings if ruling.judged.method == method), None)


def _cell(ruling: Ruling | None) -> Text:
    if ruling is None:
        return Text("—", "dim")
    return Text.assemble(f"{between(ruling.judged.share)} ", (ruling.tone, TONES[ruling.tone]))

"""An audit of sources in a terminal: the headline, what came from where, and a line for every method."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from attentest.sources.auditing import SourcesAudit
from attentest.sources.showing.words import between, came_from, headline, named, of_layers, of_others

__all__ = ["shown"]

TONES = {"supports": "green", "against": "red", "mixed": "yellow", "too few": "dim"}


def shown(found: SourcesAudit) -> Iterator[RenderableType]:
    """What is printed, in its order."""
    yield Text(headline(found), style="bold")
    yield Text(came_from(found))
    planted = any(ruling.judged.counts[2] for ruling in found.rulings)
    table = Table(box=None, pad_edge=False, header_style="dim")
    columns = ["", "of the fall, %", "held out", *(["hits, %"] if planted else []), "passes", ""]
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place in (0, len(columns) - 1) else "right", no_wrap=True)
    for ruling in found.rulings:
        judged = ruling.judged
        hits = [between(judged.hits, percent=True)] if planted else []
        cells = [between(judged.share, percent=True), between(judged.lds), *hits, f"{judged.passes:.0f}"]
        table.add_row(Text(named(ruling)), *cells, Text(ruling.tone, style=TONES[ruling.tone]))
    yield table
    for said in (of_layers(found), of_others(found)):
        if said:
            yield Text(said)
    counts = max((ruling.judged.counts for ruling in found.rulings), default=(0, 0, 0, 0))
    yield Text(
        f"95 % intervals over questions, {counts[0]} of which hang on their sources. Of the fall: what taking out a "
        "method's first source does, as a share of what taking out the most important one does (leave-one-out has all "
        "of it by definition). Held out: rank correlation with ablations that nothing was fitted on.",
        style="dim",
    )

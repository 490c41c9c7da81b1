"""The paper's figure: how often each seed is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt

from attentest.papers.evidence import Cell
from attentest.report.claims.figures import PaperFigure
from attentest.store.summary import estimate


def figures(cells: Sequence[Cell]) -> Iterator[PaperFigure]:
    """A bar for every seed."""
    rows = [
        {"seed": cell.choices["seed"], "right": estimate(cell.folder.findings("instances"), "accuracy").value}
        for cell in cells
    ]

    def draw(*, columns: int = 3) -> Any:
        return alt.Chart(alt.Data(values=rows)).mark_bar().encode(x="right:Q", y="seed:N")

    yield PaperFigure("How often is each seed right?", "One bar a seed.", f"{len(rows)} seeds", draw)

"""What people see of half_uniform."""

from __future__ import annotations

from typing import Any

import altair as alt

from attentest.presentation.line import Line
from attentest.presentation.presentation import Caption, Column, Plot, Presentation, Results, Section
from attentest.store.findings import Findings
from attentest.store.summary import estimate


def moved_line(findings: Findings, results: Results) -> Line:
    """How far predictions move; the tone it claims does not count."""
    moved = estimate(findings, "moved")
    question = "Does half of the attention do?"
    words = f"Half uniform, the prediction of a {results.wording.unit} moves so far."
    return Line("states", question, f"{moved} TVD", words, "against", moved, "states", "Does half do?")


def histogram(findings: Findings, results: Results) -> Any:
    """Texts by how far they move."""
    rows = [{"moved": value} for value in findings.table["moved"].to_pylist() if value is not None]
    return alt.Chart(alt.Data(values=rows)).mark_bar().encode(alt.X("moved:Q", bin=True), alt.Y("count()"))


def furthest(results: Results) -> list[str]:
    """The texts that move furthest."""
    rows = results.found["half_uniform"].table.select(["id", "moved"]).to_pylist()
    return [row["id"] for row in sorted(rows, key=lambda row: -(row["moved"] or 0))[:3]]


HALF_UNIFORM = Presentation(
    "half_uniform",
    columns=(Column("moved", "double", "total variation distance of the prediction under weights half uniform"),),
    lines=(moved_line,),
    figures=lambda: (
        Plot("moved", "moved", histogram, Caption("Who moves?", "Each bar counts {w.units} that move as far.")),
    ),
    sections=(Section("furthest", "pets/furthest.html", furthest),),
    in_study={"moved": "moved, half uniform"},
)

"""How different attention could be, drawn (Jain & Wallace 2019)."""

from __future__ import annotations

import json

import altair as alt
import numpy as np

from attentest.presentation.charts import (
    INK,
    LN2,
    MUTED,
    Palette,
    data_of,
    histogram_steps,
    judged_columns,
    reference_line,
    scatter,
    styled,
    up_to,
)
from attentest.store.findings import Findings
from attentest.tasks import TEXTS, Wording

__all__ = [
    "bounded",
    "certified",
    "divergence_by_max_attention",
    "divergence_histogram",
    "searched",
    "searched_against_certified",
]


def bounded(adversary: Findings) -> bool:
    """Whether bounds were proved, as for a head that is affine; otherwise all there is was found by searching."""
    return _holds(adversary, "upper")


def certified(adversary: Findings) -> bool:
    """Whether the bounds meet on every text, so that what was reached is the most there is."""
    return bounded(adversary) and bool(judged_columns(adversary.table, "certified")["certified"].all())


def searched(adversary: Findings) -> bool:
    """Whether the published search was run, and found anything."""
    return _holds(adversary, "searched_divergence")


def _holds(findings: Findings, column: str) -> bool:
    return column in findings.table.column_names and len(judged_columns(findings.table, column)[column]) > 0


def divergence_histogram(adversary: Findings, wording: Wording = TEXTS) -> alt.LayerChart:
    """ε-max JSD, filled; where it is certified, what the published search reaches stands beside it, as a line."""
    lower, found = (judged_columns(adversary.table, name)[name] for name in ("lower", "searched_divergence"))
    names = ["found by searching"]
    if bounded(adversary):
        names = ["certified" if certified(adversary) else "reached", *["found by the search"] * searched(adversary)]
    edges, reached = np.linspace(0, LN2, 23), "largest" if certified(adversary) else "largest found"
    x = alt.X("x:Q", title=f"{reached} divergence that keeps the prediction (JSD)", scale=up_to(0.72))
    y = alt.Y("share:Q", stack=None, title=f"share of {wording.units}", axis=alt.Axis(format=".0%", tickCount=5))
    scale = alt.Scale(domain=names, range=["#9DB2C9", INK][: len(names)])
    counts = json.dumps({name: f", n {len(each):,}" for each, name in zip((lower, found), names, strict=False)})
    legend = alt.Legend(symbolType="square", labelExpr=f"datum.label + {counts}[datum.label]")
    colour = alt.Color("class:N", scale=scale, legend=legend)
    steps = [
        alt.Chart(data_of(histogram_steps(each, edges, name)))
        for each, name in zip((lower, found), names, strict=False)
    ]
    layers = [steps[0].mark_area(interpolate="step-after").encode(x, y, colour)]
    layers += [one.mark_line(interpolate="step-after", strokeWidth=1.8).encode(x, y, colour) for one in steps[1:]]
    return styled(alt.layer(*layers, reference_line("x", LN2, "ln 2"), width=380, height=250))


def divergence_by_max_attention(adversary: Findings, palette: Palette) -> alt.LayerChart:
    """ε-max JSD against max attention, under ln 2 and the maximum if the prediction were free."""
    rows = judged_columns(adversary.table, "lower", "max_attention", "unconstrained")
    top, lower, free = rows["max_attention"], rows["lower"], rows["unconstrained"]
    bins = np.minimum((top * 20).astype(int), 19)
    medians = [{"x": (b + 0.5) / 20, "y": np.median(free[bins == b])} for b in np.unique(bins).tolist()]
    x = alt.X("x:Q", title="largest attention weight", scale=up_to(1), axis=alt.Axis(tickCount=5))
    y = alt.Y("y:Q", title=f"{_reached(adversary)} (JSD)", scale=up_to(0.72))
    line = alt.Chart(data_of(medians)).mark_line(color=INK, strokeWidth=1.6).encode(x, y)
    cap = reference_line("y", LN2, "dashed: ln 2, solid: median if the prediction were free")
    points = scatter(rows, palette, top, lower).encode(x, y, palette.encoding())
    return styled(alt.layer(points, line, cap, width=380, height=250))


def _reached(adversary: Findings) -> str:
    """What the largest divergence known is."""
    if not bounded(adversary):
        return "divergence found by searching"
    return "certified divergence" if certified(adversary) else "largest divergence reached"


def searched_against_certified(adversary: Findings, palette: Palette) -> alt.LayerChart:
    """What the published search reaches against the largest divergence known: points below the line fall short."""
    rows = judged_columns(adversary.table, "lower", "searched_divergence")
    x = alt.X("x:Q", title=f"{_reached(adversary)} (JSD)", scale=up_to(0.72))
    y = alt.Y("y:Q", title="found by the search (JSD)", scale=up_to(0.72))
    points = scatter(rows, palette, rows["lower"], rows["searched_divergence"])
    diagonal = alt.Chart(data_of([{"x": v, "y": v} for v in (0, LN2)])).mark_line(color=MUTED, strokeWidth=1)
    layers = [diagonal.encode(x, y), points.encode(x, y, palette.encoding())]
    return styled(alt.layer(*layers, width=300, height=300))

"""Figure 4, tasks side by side: what is left when the attention of more and more layers is permuted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from attentest.challenges.layers.presentation import DIRECTIONS
from attentest.papers.vashishth_2019.layer_panels import BLEU, LayerPanel
from attentest.presentation.charts import COLOURS, MUTED, PALE, THEME

__all__ = ["layer_curves"]

#: Every kind of attention has its colour, in every panel.
KINDS = {"self": COLOURS[0], "encoder": COLOURS[1], "decoder": COLOURS[2], "cross": COLOURS[3]}


def layer_curves(panels: Sequence[LayerPanel], *, columns: int = 4) -> alt.ConcatChart:
    """Tasks side by side: the score by the number of layers permuted, with 95 % intervals over seeds."""
    kinds = [kind for kind in KINDS if any(curve.attention == kind for panel in panels for curve in panel.curves)]
    texts = [point for panel in panels if panel.score == BLEU for curve in panel.curves for point in curve.points]
    best = max((value for point in texts for value in (point.value, point.high) if math.isfinite(value)), default=1.0)
    drawn = [_panel(panel, kinds, best if panel.score == BLEU else 1.0) for panel in panels]
    return alt.concat(*drawn, columns=columns, spacing=32).properties(config=THEME)


def _panel(panel: LayerPanel, kinds: Sequence[str], top: float) -> alt.LayerChart:
    rows: list[dict[str, Any]] = []
    for curve in panel.curves:
        for count, point in enumerate(curve.points):
            order = DIRECTIONS[curve.direction]
            row = {"layers": count, "value": point.value, "attention": curve.attention, "order": order}
            # With fewer than three seeds there is no interval over seeds.
            rows.append(row | ({"low": point.low, "high": point.high} if math.isfinite(point.half) else {}))
    colour = alt.Color(
        "attention:N",
        title="attention permuted",
        scale=alt.Scale(domain=list(kinds), range=[KINDS[kind] for kind in kinds]),
        legend=alt.Legend(symbolType="circle"),
    )
    dash = alt.StrokeDash(
        "order:N", title="counted", scale=alt.Scale(domain=list(DIRECTIONS.values()), range=[[1, 0], [5, 3]])
    )
    x = alt.X("layers:Q", title="layers permuted", axis=alt.Axis(tickMinStep=1, format="d"))
    y = alt.Y("value:Q", title=panel.score, scale=alt.Scale(domain=[0, top]))
    base = alt.Chart(alt.Data(values=rows)).encode(x, color=colour)
    start = alt.Chart(alt.Data(values=rows[:1])).mark_rule(color=PALE, strokeDash=[2, 2], strokeWidth=1.5).encode(y)
    layers = [
        start,
        base.mark_line(strokeWidth=1.8).encode(y, dash),
        base.mark_rule(strokeWidth=2.2, opacity=0.6).encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        base.mark_circle(size=42, opacity=1).encode(y),
    ]
    title = alt.Title(panel.task, subtitle=panel.corpus, subtitleColor=MUTED, frame="group")
    return alt.layer(*layers, title=title, width=190, height=216)

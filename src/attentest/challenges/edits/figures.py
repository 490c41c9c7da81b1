"""Explainers against people's edits, drawn."""

from __future__ import annotations

import altair as alt

from attentest.presentation.charts import COLOURS, interval_chart, measured_interval, reference_line, up_to
from attentest.registry import name_in_words
from attentest.store.findings import Findings
from attentest.store.summary import estimate

__all__ = ["edited_words"]

OUTCOMES = ("followed", "not followed")


def edited_words(edits: Findings, *, width: int = 250) -> alt.LayerChart:
    """Average precision of every explainer against the edited words, where predictions follow and where not."""
    measures = [m for m in edits.measures if m.column == "average_precision"]
    names = list(dict.fromkeys(m.where["explainer"] for m in measures))
    rows = [
        measured_interval(edits, m, None)
        | {"what": name_in_words(m.where["explainer"], names), "class": m.where["outcome"]}
        for m in measures
    ]
    best = {row["what"]: -(row["value"] or 0) for row in rows if row["class"] == OUTCOMES[0]}
    rows.sort(key=lambda row: best[row["what"]])
    title = ["mean average precision,", "with 95 % interval"]
    x = alt.X("value:Q", title=title, scale=up_to(1), axis=alt.Axis(tickCount=5))
    scale = alt.Scale(domain=list(OUTCOMES), range=list(COLOURS[:2]))
    colour = alt.Color("class:N", scale=scale, legend=alt.Legend(symbolType="circle"))
    chance = estimate(edits, "chance.followed").value
    return interval_chart(rows, x, colour, list(OUTCOMES), reference_line("x", chance, "chance"), width)

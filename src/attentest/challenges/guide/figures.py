"""A simple model under given weights, drawn (Wiegreffe & Pinter 2019)."""

from __future__ import annotations

import math

import altair as alt

from attentest.challenges.trained_models import guided
from attentest.presentation.charts import ALL, INK, THEME, interval_chart, interval_of_estimate, reference_line
from attentest.presentation.seeds import MACRO, judged_rows, scores
from attentest.store.findings import Findings

__all__ = ["guide_scores"]


def guide_scores(guide: Findings) -> alt.LayerChart:
    """Macro F1 of the simple model under every kind of weights, with intervals, and the audited model's as a line."""
    rows = [interval_of_estimate(one.scores[MACRO]) | {"what": one.words, "class": ALL} for one in guided(guide)]
    table = judged_rows(guide.table)
    own = scores(table["label"].to_numpy(), table["predicted"].to_numpy()[:, None], resample=False)[0, 0, MACRO]
    lowest = min(own, *(row["low"] if row["low"] is not None else row["value"] for row in rows))
    scale = alt.Scale(domain=[math.floor(20 * lowest) / 20, 1], nice=False)
    x = alt.X("value:Q", title="macro F1, with 95 % interval", scale=scale, axis=alt.Axis(tickCount=5))
    chart = interval_chart(rows, x, alt.value(INK), [ALL], reference_line("x", own, "the audited model"), 250)
    # Differences of a few points would not be seen beside zero.
    return chart.properties(config=THEME | {"scale": THEME.get("scale", {}) | {"zero": False}})

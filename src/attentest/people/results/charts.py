"""The shares of answers as a chart: a point and its interval for every outcome and condition."""

from __future__ import annotations

from typing import Any

import altair as alt

from attentest.people.results.results import Results
from attentest.presentation.charts import COLOURS, styled

__all__ = ["share_chart"]


def share_chart(found: Results, named: tuple[str, ...]) -> Any:
    """One row a condition and outcome; of two outcomes the first says it all."""
    outcomes = named[:1] if len(named) == 2 else named
    rows = [
        {
            "row": f"{one.condition}: {one.outcome}",
            "share": one.share.value,
            "low": one.share.low,
            "high": one.share.high,
        }
        for one in found.kept.shares
        if one.outcome in outcomes
    ]
    order = [row["row"] for row in rows]
    y = alt.Y("row:N", sort=order, title=None)
    scale = alt.Scale(domain=[0, 1])
    base = alt.Chart(alt.Data(values=rows))
    bars = base.mark_rule(strokeWidth=3, color=COLOURS[0]).encode(
        y=y, x=alt.X("low:Q", scale=scale, title="share of answers", axis=alt.Axis(format="%")), x2="high:Q"
    )
    points = base.mark_circle(size=90, color=COLOURS[0], opacity=1).encode(y=y, x=alt.X("share:Q", scale=scale))
    return styled(
        (bars + points).properties(
            width=520, height=34 * max(len(rows), 1), padding={"left": 40, "right": 20, "top": 8, "bottom": 8}
        )
    )

"""What is left when the attention of more and more layers is replaced, drawn (Vashishth et al. 2019)."""

from __future__ import annotations

from typing import Any

import altair as alt
import pyarrow.compute as pc

from attentest.challenges.layers.presentation import DIRECTIONS
from attentest.presentation.charts import COLOURS, MUTED, curve, styled
from attentest.store.findings import Findings, Measure
from attentest.store.summary import estimate

__all__ = ["layers_curve"]


def layers_curve(layers: Findings) -> alt.LayerChart:
    """Correct predictions with 95 % intervals, by the number of layers replaced: a line for every direction."""
    table = layers.table
    kinds = pc.unique(table.filter(pc.is_valid(table["change"]))["attention"]).to_pylist()
    rows: list[dict[str, Any]] = []
    for kind in kinds:
        most = int(pc.max(table.filter(pc.equal(table["attention"], kind))["layers"]).as_py())
        own = estimate(layers, Measure("", "correct", "fraction", "", {"attention": kind, "replaced": "all"}))
        for direction, said in DIRECTIONS.items():
            name = said if len(kinds) == 1 else f"{kind}, {said}"
            rows.append({"layers": 0, "value": own.value, "low": own.low, "high": own.high, "order": name})
            for count in range(1, most + 1):
                replaced = "all" if count == most else f"{direction} {count}"
                where = {"attention": kind, "replaced": replaced}
                found = estimate(layers, Measure("", "correct_after", "mean", "", where))
                rows.append(
                    {"layers": count, "value": found.value, "low": found.low, "high": found.high, "order": name}
                )
    drawn = list(dict.fromkeys(row["order"] for row in rows))
    colour = alt.Color(
        "order:N",
        title="attention replaced",
        scale=alt.Scale(domain=drawn, range=[COLOURS[i % len(COLOURS)] for i in range(len(drawn))]),
        legend=alt.Legend(columns=1, symbolType="circle", labelLimit=260),
    )
    x = alt.X("layers:Q", title="layers replaced", axis=alt.Axis(tickMinStep=1, format="d"))
    y = alt.Y("value:Q", title="correct predictions", scale=alt.Scale(domain=[0, 1]))
    base = alt.Chart(alt.Data(values=rows)).encode(x, color=colour)
    start = alt.Chart(alt.Data(values=rows[:1]))
    named = {"align": "right", "x": 356, "dy": -8, "text": "the model as it is", "color": MUTED, "fontSize": 11.5}
    drawn_layers = [
        start.mark_rule(color=MUTED, strokeDash=[4, 3]).encode(y),
        start.mark_text(**named).encode(y),
        *curve(base, y),
    ]
    return styled(alt.layer(*drawn_layers, width=360, height=250))

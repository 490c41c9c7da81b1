"""The sanity check as a curve: how alike an explainer's scores stay while the model's weights are drawn anew."""

from __future__ import annotations

from typing import Any

import altair as alt
import pyarrow.compute as pc

from attentest.presentation.charts import COLOURS, MUTED, PALE, curve, styled
from attentest.presentation.text import visible
from attentest.registry import name_in_words
from attentest.store.findings import Findings, Measure
from attentest.store.summary import Estimate, estimate

__all__ = ["randomisation_curve"]

TRAINED, EVERYTHING = "nothing", "everything"


def randomisation_curve(randomisation: Findings) -> alt.LayerChart:
    """Spearman's ρ with the trained model's scores, layer after layer, with 95 % intervals: a line an explainer."""
    table = randomisation.table
    cascade = randomisation.parameters["cascade"]
    steps = dict(sorted({(row["step"], row["layer"]) for row in table.select(["step", "layer"]).to_pylist()}))
    names = pc.unique(table["explainer"]).to_pylist()
    called = {name: visible(name_in_words(name, names), 40) for name in names}
    stages = [_stage(layer, step, cascade) for step, layer in steps.items()]
    rows: list[dict[str, Any]] = []
    for name in names:
        found = [
            estimate(randomisation, Measure("", "spearman", "mean", "", {"explainer": name, "layer": layer}))
            for layer in steps.values()
        ]
        points = [_point(one, stage) for one, stage in zip(found, stages, strict=True) if one.judged]
        if cascade and points:
            points.insert(0, {"stage": TRAINED, "value": 1.0, "low": 1.0, "high": 1.0})
        rows += [point | {"explainer": called[name]} for point in points]
    drawn = list(dict.fromkeys(row["explainer"] for row in rows))
    colours = [COLOURS[i] if i < len(COLOURS) else MUTED for i in range(len(drawn))]
    colour = alt.Color(
        "explainer:N",
        scale=alt.Scale(domain=drawn, range=colours),
        legend=alt.Legend(columns=2, symbolType="circle", labelLimit=170),
    )
    shown = [TRAINED] * cascade + stages
    x = alt.X(
        "stage:N", sort=shown, title="weights drawn anew", scale=alt.Scale(domain=shown), axis=alt.Axis(labelAngle=0)
    )
    lowest = min([-0.25, *(row["low"] for row in rows)])
    y = alt.Y("value:Q", title="likeness to the trained model's scores (ρ)", scale=alt.Scale(domain=[lowest, 1]))
    # A little apart, so that lines which run together can be told apart.
    beside = alt.XOffset("explainer:N", sort=drawn, scale=alt.Scale(type="point", padding=2))
    base = alt.Chart(alt.Data(values=rows)).encode(x, beside, color=colour)
    nothing = alt.Chart(alt.Data(values=[{"value": 0}])).mark_rule(color=PALE, strokeDash=[4, 3]).encode(y)
    layers = [
        nothing,
        *curve(base, y, line=cascade),
    ]
    return styled(alt.layer(*layers, width=360, height=250))


def _stage(layer: str, step: int, cascade: bool) -> str:
    return f"+ {layer}" if cascade and step > 1 and layer != EVERYTHING else layer


def _point(found: Estimate, stage: str) -> dict[str, Any]:
    certain = found.low == found.low
    low, high = (found.low, found.high) if certain else (found.value, found.value)
    return {"stage": stage, "value": found.value, "low": low, "high": high}

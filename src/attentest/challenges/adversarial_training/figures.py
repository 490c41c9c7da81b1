"""Trained adversaries, drawn (Wiegreffe & Pinter 2019)."""

from __future__ import annotations

import math
from typing import Any

import altair as alt

from attentest.challenges.trained_models import adversaries, without_attention
from attentest.presentation.charts import (
    ACCENT,
    INK,
    LN2,
    MUTED,
    PALE,
    Rows,
    data_of,
    judged_columns,
    reference_line,
    styled,
    up_to,
)
from attentest.presentation.seeds import Seeds, judged_rows
from attentest.store.findings import Findings
from attentest.store.summary import Estimate

__all__ = ["imitation_curve"]


ADVERSARY, SEED, UNIFORM, SINGLE = "adversary, by λ", "another seed", "uniform weights", "weights found text by text"

#: What stands on the curve: how it is drawn.
MARKS = {
    ADVERSARY: ("circle", ACCENT),
    SEED: ("triangle-up", INK),
    UNIFORM: ("square", "#0072B2"),
    SINGLE: ("cross", "#D55E00"),
}


def imitation_curve(
    adversarial_training: Findings,
    seed_variance: Findings | None = None,
    trained_uniform: Findings | None = None,
    adversary: Findings | None = None,
) -> alt.LayerChart:
    """TVD of predictions against JSD of attention for every λ, with seeds and uniform weights as points."""
    curve = [_point(one.jsd, one.tvd, ADVERSARY, one.words) for one in adversaries(adversarial_training)]
    points: Rows = [row | {"place": place} for place, row in enumerate(curve) if row]
    seeds = Seeds.of(seed_variance)
    if seeds is not None:
        each = zip(seeds.each_jsd.tolist(), seeds.each_tvd.tolist(), strict=True)
        points += [{"x": x, "y": y, "kind": SEED} for x, y in each]
    if trained_uniform is not None and len(judged_rows(trained_uniform.table)):
        without = without_attention(trained_uniform)[1]
        points += [row for row in [_point(without.jsd, without.tvd, UNIFORM)] if row]
    if adversary is not None and "adversarial_change" in adversary.table.column_names:
        found = judged_columns(adversary.table, "lower", "adversarial_change")
        if len(found["lower"]):
            points.append({"x": found["lower"].mean(), "y": found["adversarial_change"].mean(), "kind": SINGLE})
    return _curve(points, seeds)


def _curve(points: Rows, seeds: Seeds | None) -> alt.LayerChart:
    there = [kind for kind in MARKS if any(row["kind"] == kind for row in points)]
    highest = max([0.05, *(float(row.get("high") or row["y"]) for row in points)])
    x = alt.X("x:Q", title="attention: JSD from the model’s", scale=up_to(0.72), axis=alt.Axis(tickCount=7))
    scale = alt.Scale(domain=[0, 1.12 * highest], nice=False)
    y = alt.Y("y:Q", title="predictions: TVD from the model’s", scale=scale, axis=alt.Axis(tickCount=5))
    legend = alt.Legend(columns=2, labelLimit=220)
    domain = alt.Scale(domain=there, range=[MARKS[kind][1] for kind in there])
    shapes = alt.Scale(domain=there, range=[MARKS[kind][0] for kind in there])
    colour = alt.Color("kind:N", scale=domain, legend=legend)
    base = alt.Chart(data_of(points)).encode(color=colour)
    ours = [row for row in points if row["kind"] == ADVERSARY]
    layers: list[Any] = [reference_line("x", LN2, "ln 2")]
    if seeds is not None:
        layers.append(_beyond(seeds))
    layers += [
        alt.Chart(data_of(ours)).mark_line(color=ACCENT, strokeWidth=1.8).encode(x, y, order="place:Q"),
        base.mark_rule(strokeWidth=1.6).encode(x="left:Q", x2="right:Q", y="y:Q"),
        base.mark_rule(strokeWidth=1.6).encode(y="low:Q", y2="high:Q", x="x:Q"),
        base.mark_point(size=58, filled=True, opacity=0.95).encode(
            x, y, colour, alt.Shape("kind:N", scale=shapes, legend=legend)
        ),
        alt.Chart(data_of(ours))
        .mark_text(align="left", dx=8, dy=9, fontSize=11, color=MUTED)
        .encode(x, y, text="text:N"),
    ]
    return styled(alt.layer(*layers, width=380, height=290))


def _beyond(seeds: Seeds) -> alt.LayerChart:
    """Where an adversary would speak against attention: as alike as another seed, and further away than it."""
    corner = {"x": seeds.jsd.value, "x2": LN2, "y": 0.0, "y2": seeds.tvd.value}
    area = alt.Chart(data_of([corner])).mark_rect(fill=PALE, fillOpacity=0.35)
    return area.encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q") + alt.Chart(data_of([corner])).mark_rule(
        color=MUTED, strokeDash=[2, 3]
    ).encode(y="y2:Q")


def _point(jsd: Estimate | None, tvd: Estimate | None, kind: str, text: str = "") -> dict[str, Any] | None:
    if jsd is None or tvd is None or not (jsd.judged and tvd.judged):
        return None
    row: dict[str, Any] = {"x": jsd.value, "y": tvd.value, "kind": kind, "text": text}
    if not (math.isnan(jsd.low) or math.isnan(tvd.low)):
        row |= {"left": jsd.low, "right": jsd.high, "low": tvd.low, "high": tvd.high}
    return row

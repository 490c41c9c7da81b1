"""The plots of Wiegreffe & Pinter (2019) as Altair charts: other seeds, the guided model, the adversaries' curve.

As in figures.py, every number drawn is computed here from all judged rows.
"""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import numpy as np

from attentest.report.figures import (
    ACCENT,
    ALL,
    GRID,
    INK,
    LN2,
    MUTED,
    PALE,
    THEME,
    Rows,
    _data,
    _drawn,
    _intervals,
    _judged,
    _reference,
    _styled,
    _up_to,
)
from attentest.report.four_tests import adversaries, guided, without_attention
from attentest.report.seeds import MACRO, Seeds, judged_rows, scores
from attentest.store.findings import Findings
from attentest.store.summary import Estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["guide_scores", "imitation_curve", "seed_violins"]

#: The bins of the largest weight, from the bottom up, as in the permutation plot.
BINS = ("0 to .25", ".25 to .5", ".5 to .75", ".75 to 1")
#: A lane of the violins is this wide on either side of its middle.
HALF = 0.42
ADVERSARY, SEED, UNIFORM, SINGLE = "adversary, by λ", "another seed", "uniform weights", "weights found text by text"
#: What stands on the curve: how it is drawn.
MARKS = {
    ADVERSARY: ("circle", ACCENT),
    SEED: ("triangle-up", INK),
    UNIFORM: ("square", "#0072B2"),
    SINGLE: ("cross", "#D55E00"),
}


def seed_violins(seed_variance: Findings, wording: Wording = TEXTS, *, columns: int = 2) -> alt.ConcatChart:
    """How far attention and predictions lie from other seeds', by the largest weight: density and median."""
    rows = _judged(seed_variance.table, "attention_jsd", "prediction_tvd", "max_attention")
    bins = np.minimum((rows["max_attention"] * len(BINS)).astype(int), len(BINS) - 1)
    panels = [
        _violins(rows["attention_jsd"], bins, LN2, "attention: JSD to other seeds", wording, labelled=True),
        _violins(rows["prediction_tvd"], bins, 1.0, "predictions: TVD to other seeds", wording, labelled=columns == 1),
    ]
    return _styled(alt.concat(*panels, columns=columns, spacing=24))


def _violins(
    values: np.ndarray, bins: np.ndarray, top: float, title: str, wording: Wording, *, labelled: bool
) -> alt.LayerChart:
    outline: Rows = []
    marks: Rows = [{"y": len(BINS) - 0.5, "n": wording.units}]
    for lane in range(len(BINS)):
        inside = values[bins == lane]
        marks.append({"y": float(lane), "n": f"{len(inside):,}"})
        if len(inside):
            marks[-1] |= {"median": float(np.median(inside))}
            at, density = _density(inside, top)
            widths = HALF * density / density.max()
            outline += [
                {"x": x, "low": lane - w, "high": lane + w, "lane": lane}
                for x, w in zip(at.tolist(), widths.tolist(), strict=True)
            ]
    names = str(list(BINS)).replace("'", '"')
    shown = f"{names}[datum.value]" if labelled else "''"
    axis = alt.Axis(
        values=list(range(len(BINS))), labelExpr=shown, grid=False, ticks=False, domain=False, titlePadding=14
    )
    scale = alt.Scale(domain=[-0.5, len(BINS) - 0.5], nice=False)
    up = alt.Y("y:Q", title="largest attention weight" if labelled else None, scale=scale, axis=axis)
    x = alt.X("x:Q", title=title, scale=_up_to(top), axis=alt.Axis(tickCount=5))
    body = alt.Chart(_data(outline)).mark_area(fill=ACCENT, fillOpacity=0.3, stroke=ACCENT, strokeWidth=1)
    base = alt.Chart(_data(marks)).encode(up)
    layers = [
        alt.Chart(_data([{"y": lane + 0.5} for lane in range(len(BINS) - 1)])).mark_rule(color=GRID).encode(up),
        body.encode(x, alt.Y("low:Q", scale=scale, axis=axis), alt.Y2("high:Q"), alt.Detail("lane:N")),
        base.mark_tick(color=INK, opacity=1, thickness=3.5, height=26).encode(x="median:Q"),
        base.mark_text(align="left", x=306, color=MUTED, fontSize=11).encode(text="n:N"),
    ]
    return alt.layer(*layers, width=300, height=280)


def _density(values: np.ndarray, top: float) -> tuple[np.ndarray, np.ndarray]:
    """A smooth histogram between the lowest and the highest value: a Gaussian kernel, Silverman's width."""
    spread = min(values.std(), (np.quantile(values, 0.75) - np.quantile(values, 0.25)) / 1.34) or values.std()
    width = max(0.9 * spread * len(values) ** -0.2, 0.004 * top)
    at = np.linspace(max(0.0, values.min() - width), min(top, values.max() + width), 61)
    counts, edges = np.histogram(values, bins=512, range=(0, max(top, values.max())))
    middle = (edges[1:] + edges[:-1]) / 2
    kernel = np.exp(-(((at[:, None] - middle) / width) ** 2) / 2)
    return at, kernel @ counts


def guide_scores(guide: Findings) -> alt.LayerChart:
    """Macro F1 of the simple model under every kind of weights, with intervals, and the audited model's as a line."""
    rows = [_drawn(one.scores[MACRO]) | {"what": one.words, "class": ALL} for one in guided(guide)]
    table = judged_rows(guide.table)
    own = scores(table["label"].to_numpy(), table["predicted"].to_numpy()[:, None], resample=False)[0, 0, MACRO]
    lowest = min(own, *(row["low"] if row["low"] is not None else row["value"] for row in rows))
    scale = alt.Scale(domain=[math.floor(20 * lowest) / 20, 1], nice=False)
    x = alt.X("value:Q", title="macro F1, with 95 % interval", scale=scale, axis=alt.Axis(tickCount=5))
    chart = _intervals(rows, x, alt.value(INK), [ALL], _reference("x", own, "the audited model"), 250)
    # Differences of a few points would not be seen beside zero.
    return chart.properties(config=THEME | {"scale": THEME.get("scale", {}) | {"zero": False}})


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
        found = _judged(adversary.table, "lower", "adversarial_change")
        if len(found["lower"]):
            points.append({"x": found["lower"].mean(), "y": found["adversarial_change"].mean(), "kind": SINGLE})
    return _curve(points, seeds)


def _curve(points: Rows, seeds: Seeds | None) -> alt.LayerChart:
    there = [kind for kind in MARKS if any(row["kind"] == kind for row in points)]
    highest = max([0.05, *(float(row.get("high") or row["y"]) for row in points)])
    x = alt.X("x:Q", title="attention: JSD from the model’s", scale=_up_to(0.72), axis=alt.Axis(tickCount=7))
    scale = alt.Scale(domain=[0, 1.12 * highest], nice=False)
    y = alt.Y("y:Q", title="predictions: TVD from the model’s", scale=scale, axis=alt.Axis(tickCount=5))
    legend = alt.Legend(columns=2, labelLimit=220)
    domain = alt.Scale(domain=there, range=[MARKS[kind][1] for kind in there])
    shapes = alt.Scale(domain=there, range=[MARKS[kind][0] for kind in there])
    colour = alt.Color("kind:N", scale=domain, legend=legend)
    base = alt.Chart(_data(points)).encode(color=colour)
    ours = [row for row in points if row["kind"] == ADVERSARY]
    layers: list[Any] = [_reference("x", LN2, "ln 2")]
    if seeds is not None:
        layers.append(_beyond(seeds))
    layers += [
        alt.Chart(_data(ours)).mark_line(color=ACCENT, strokeWidth=1.8).encode(x, y, order="place:Q"),
        base.mark_rule(strokeWidth=1.6).encode(x="left:Q", x2="right:Q", y="y:Q"),
        base.mark_rule(strokeWidth=1.6).encode(y="low:Q", y2="high:Q", x="x:Q"),
        base.mark_point(size=58, filled=True, opacity=0.95).encode(
            x, y, colour, alt.Shape("kind:N", scale=shapes, legend=legend)
        ),
        alt.Chart(_data(ours))
        .mark_text(align="left", dx=8, dy=9, fontSize=11, color=MUTED)
        .encode(x, y, text="text:N"),
    ]
    return _styled(alt.layer(*layers, width=380, height=290))


def _beyond(seeds: Seeds) -> alt.LayerChart:
    """Where an adversary would speak against attention: as alike as another seed, and further away than it."""
    corner = {"x": seeds.jsd.value, "x2": LN2, "y": 0.0, "y2": seeds.tvd.value}
    area = alt.Chart(_data([corner])).mark_rect(fill=PALE, fillOpacity=0.35)
    return area.encode(x="x:Q", x2="x2:Q", y="y:Q", y2="y2:Q") + alt.Chart(_data([corner])).mark_rule(
        color=MUTED, strokeDash=[2, 3]
    ).encode(y="y2:Q")


def _point(jsd: Estimate | None, tvd: Estimate | None, kind: str, text: str = "") -> dict[str, Any] | None:
    if jsd is None or tvd is None or not (jsd.judged and tvd.judged):
        return None
    row: dict[str, Any] = {"x": jsd.value, "y": tvd.value, "kind": kind, "text": text}
    if not (math.isnan(jsd.low) or math.isnan(tvd.low)):
        row |= {"left": jsd.low, "right": jsd.high, "low": tvd.low, "high": tvd.high}
    return row

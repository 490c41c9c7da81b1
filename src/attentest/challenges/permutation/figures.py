"""Shuffled weights, drawn (Jain & Wallace 2019)."""

from __future__ import annotations

import math

import altair as alt
import numpy as np

from attentest.presentation.charts import (
    GRID,
    INK,
    MUTED,
    Palette,
    Rows,
    data_of,
    judged_columns,
    scatter,
    styled,
    up_to,
)
from attentest.store.findings import Findings
from attentest.tasks import TEXTS, Wording

__all__ = ["permutation_by_max_attention"]


def permutation_by_max_attention(permutation: Findings, palette: Palette, wording: Wording = TEXTS) -> alt.LayerChart:
    """Median Δŷ under permuted attention by max attention and predicted class: points, box and median."""
    rows = judged_columns(permutation.table, "median_change", "max_attention")
    change, group = rows["median_change"], palette.groups(rows["predicted"])
    lanes = len(palette.names) if len(palette.names) <= 3 else 1
    half = 0.4 / lanes
    lane = np.minimum((rows["max_attention"] * 4).astype(int), 3) * lanes + (group if lanes > 1 else 0)
    heights = np.array([b + 0.4 - half * (2 * k + 1) for b in range(4) for k in range(lanes)])
    y = heights[lane]
    boxes: Rows = [{"y": 3.5, "n": wording.units}]
    for i, height in enumerate(heights.tolist()):
        values = change[lane == i]
        boxes.append({"y": height, "n": f"{len(values):,}"})
        if len(values):
            low, q1, median, q3, high = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
            boxes[-1] |= {"low": low, "q1": q1, "median": median, "q3": q3, "high": high}
            y[lane == i] += _spread(values) * half * 0.85
    labels = '["0 to .25", ".25 to .5", ".5 to .75", ".75 to 1"][datum.value]'
    axis = alt.Axis(values=[0, 1, 2, 3], labelExpr=labels, grid=False, ticks=False, domain=False)
    up = alt.Y("y:Q", title="largest attention weight", scale=alt.Scale(domain=[-0.5, 3.5]), axis=axis)
    widest = max(0.5, math.ceil(change.max(initial=0) * 10) / 10)
    x = alt.X("x:Q", title="median change of the prediction (TVD)", scale=up_to(widest), axis=alt.Axis(tickCount=6))
    box = alt.Chart(data_of(boxes)).encode(up)
    layers = [
        alt.Chart(data_of([{"y": v} for v in (0.5, 1.5, 2.5)])).mark_rule(color=GRID).encode(up),
        scatter(rows, palette, change, y).encode(x, up, palette.encoding()),
        box.mark_rule(color=INK).encode(x="low:Q", x2="high:Q"),
        box.mark_bar(height=9, fill="white", fillOpacity=0.85, stroke=INK).encode(x="q1:Q", x2="q3:Q"),
        box.mark_tick(color=INK, opacity=1, thickness=3.5, height=17).encode(x="median:Q"),
        box.mark_text(align="left", x=368, color=MUTED, fontSize=11).encode(text="n:N"),
    ]
    return styled(alt.layer(*layers, width=360, height=300))


def _spread(values: np.ndarray) -> np.ndarray:
    """Offsets in [−1, 1] that spread points evenly and no wider than their density, as in a violin."""
    counts, edges = np.histogram(values, bins=24, range=(0, 1))
    smooth = np.convolve(counts, [0.25, 0.5, 0.25], mode="same")
    density = np.interp(values, (edges[1:] + edges[:-1]) / 2, smooth / smooth.max())
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return np.asarray(density * (2 * ((rank * 0.6180339887) % 1) - 1))

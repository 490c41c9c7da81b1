"""One weight removed, drawn (Serrano & Smith 2019, Figures 2 and 3)."""

from __future__ import annotations

import math

import altair as alt
import numpy as np

from attentest.presentation.charts import (
    ACCENT,
    INK,
    MUTED,
    Palette,
    Rows,
    data_of,
    judged_columns,
    reference_line,
    scatter,
    styled,
    up_to,
)
from attentest.presentation.text import interval_of, value_of
from attentest.store.findings import Findings
from attentest.store.summary import estimate

__all__ = ["delta_js_by_weight", "flip_square"]


CELLS = {
    ("flips", "flips"): "both_flip",
    ("flips", "stays"): "only_top_flips",
    ("stays", "flips"): "only_other_flips",
    ("stays", "stays"): "neither_flips",
}

#: The running median looks at this share of the texts at a time, and at no fewer than so many.
SHARE, FEWEST = 0.05, 25


def delta_js_by_weight(single_weight: Findings, palette: Palette) -> alt.LayerChart:
    """ΔJS of the largest weight and another one against the difference of the two, with its running median."""
    rows = judged_columns(single_weight.table, "weight_difference", "delta_js")
    difference, delta = rows["weight_difference"], rows["delta_js"]
    x = alt.X("x:Q", title="largest weight − the other one", scale=up_to(1), axis=alt.Axis(tickCount=5))
    y = alt.Y("y:Q", title="ΔJS", axis=alt.Axis(tickCount=6))
    line = alt.Chart(data_of(_running_median(difference, delta))).mark_line(color=INK, strokeWidth=2)
    layers = [
        scatter(rows, palette, difference, delta).encode(x, y, palette.encoding()),
        reference_line("y", 0, ""),
        line.encode(x, y),
    ]
    return styled(alt.layer(*layers, width=380, height=250))


def _running_median(x: np.ndarray, y: np.ndarray) -> Rows:
    """Medians of both over a window that moves along x, at most some sixty of them."""
    order = np.argsort(x, kind="stable")
    width = min(len(x), max(FEWEST, math.ceil(SHARE * len(x))))
    starts = np.unique(np.linspace(0, len(x) - width, min(60, len(x) - width + 1)).round().astype(int))
    windows = [order[start : start + width] for start in starts.tolist()]
    return [{"x": np.median(x[window]), "y": np.median(y[window])} for window in windows]


def flip_square(single_weight: Findings) -> alt.LayerChart:
    """The square of decision flips: without the largest weight, and without another one, with 95 % intervals."""
    rows: Rows = []
    for (top, other), name in CELLS.items():
        found = estimate(single_weight, name)
        words = {"text": value_of(found, "fraction"), "interval": interval_of(found, "fraction")}
        rows.append({"top": top, "other": other, "share": found.value, **words})
    axis = alt.Axis(orient="top", labelAngle=0, ticks=False, domain=False, grid=False)
    x = alt.X("other:N", title="without another weight", sort=["flips", "stays"], axis=axis)
    side = alt.Axis(ticks=False, domain=False, grid=False)
    y = alt.Y("top:N", title="without the largest weight", sort=["flips", "stays"], axis=side)
    base = alt.Chart(data_of(rows)).encode(x, y)
    shade = alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.04, 0.4]), legend=None)
    layers = [
        base.mark_rect(color=ACCENT, stroke="white", strokeWidth=3).encode(shade),
        base.mark_text(fontSize=16, fontWeight=600, dy=-8).encode(text="text:N"),
        base.mark_text(color=MUTED, dy=12).encode(text="interval:N"),
    ]
    return styled(alt.layer(*layers, width=alt.Step(130), height=alt.Step(84)))

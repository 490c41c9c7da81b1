"""The plots of Serrano & Smith (2019) as Altair charts of a run's findings: single weights, and sets of them.

As in figures.py, every number drawn is computed here from all judged rows, and only points are thinned out.
"""

from __future__ import annotations

import math
from typing import Literal

import altair as alt
import numpy as np
import pyarrow.compute as pc

from attentest.report.erasure import ORDERS
from attentest.report.figures import (
    ACCENT,
    GRID,
    INK,
    MUTED,
    THEME,
    Palette,
    Rows,
    _data,
    _judged,
    _points,
    _reference,
    _styled,
    _up_to,
)
from attentest.report.tables import interval_of, value_of
from attentest.store.findings import Findings
from attentest.store.summary import estimate

__all__ = ["delta_js_by_weight", "flip_set_boxes", "flip_square", "times_smallest_boxes"]

CELLS = {
    ("flips", "flips"): "both_flip",
    ("flips", "stays"): "only_top_flips",
    ("stays", "flips"): "only_other_flips",
    ("stays", "stays"): "neither_flips",
}
#: How wide boxes are drawn.
WIDTH = 340
#: The running median looks at this share of the texts at a time, and at no fewer than so many.
SHARE, FEWEST = 0.05, 25


def delta_js_by_weight(single_weight: Findings, palette: Palette) -> alt.LayerChart:
    """ΔJS of the largest weight and another one against the difference of the two, with its running median."""
    rows = _judged(single_weight.table, "weight_difference", "delta_js")
    difference, delta = rows["weight_difference"], rows["delta_js"]
    x = alt.X("x:Q", title="largest weight − the other one", scale=_up_to(1), axis=alt.Axis(tickCount=5))
    y = alt.Y("y:Q", title="ΔJS", axis=alt.Axis(tickCount=6))
    line = alt.Chart(_data(_running_median(difference, delta))).mark_line(color=INK, strokeWidth=2)
    layers = [
        _points(rows, palette, difference, delta).encode(x, y, palette.encoding()),
        _reference("y", 0, ""),
        line.encode(x, y),
    ]
    return _styled(alt.layer(*layers, width=380, height=250))


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
    base = alt.Chart(_data(rows)).encode(x, y)
    shade = alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.04, 0.4]), legend=None)
    layers = [
        base.mark_rect(color=ACCENT, stroke="white", strokeWidth=3).encode(shade),
        base.mark_text(fontSize=16, fontWeight=600, dy=-8).encode(text="text:N"),
        base.mark_text(color=MUTED, dy=12).encode(text="interval:N"),
    ]
    return _styled(alt.layer(*layers, width=alt.Step(130), height=alt.Step(84)))


def flip_set_boxes(
    flip_sets: Findings, never: Literal["dropped", "counted"] = "dropped", *, width: int = WIDTH
) -> alt.LayerChart:
    """The share of weights removed before the first flip, a box for every order; whiskers within 1.5 IQR.

    Texts that never flip are left out of the boxes, as Serrano & Smith do, or stand in them at 1, as Mohankumar et al.
    have them; their share is written beside.
    """
    values = _by_order(flip_sets, "flip_fraction" if never == "dropped" else "until_flip")
    notes = {order: value_of(estimate(flip_sets, f"{order}.never"), "fraction") for order in ORDERS}
    axis = alt.Axis(format=".0%", tickCount=5 if width > WIDTH / 2 else 2)
    x = alt.X("low:Q", title="share of weights removed", scale=_up_to(1), axis=axis)
    return _boxes(values, notes, "never flip", x, width)


def times_smallest_boxes(
    flip_sets: Findings, never: Literal["dropped", "counted"] = "dropped", *, width: int = WIDTH
) -> alt.LayerChart:
    """How many times as many weights each order removes as the smallest set has, on a logarithmic scale."""
    column, measure = ("times_smallest", "times") if never == "dropped" else ("times_smallest_counted", "times_counted")
    values = {order: found for order, found in _by_order(flip_sets, column).items() if order != "smallest"}
    means = {order: estimate(flip_sets, f"{order}.{measure}") for order in values}
    notes = {order: f"× {mean.value:.2f}" if mean.judged else "–" for order, mean in means.items()}
    widest = max((found.max() for found in values.values() if len(found)), default=1.0)
    scale = alt.Scale(type="log", domain=[1, max(2.0, widest)], nice=False)
    ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500) if tick <= max(2.0, widest)]
    axis = alt.Axis(values=ticks, format="~g")
    title = ["weights removed, as a multiple", "of the smallest set"]
    return _boxes(values, notes, "mean", alt.X("low:Q", title=title, scale=scale, axis=axis), width)


def _by_order(flip_sets: Findings, column: str) -> dict[str, np.ndarray]:
    """A column's numbers for every order; of the random one every single draw's, because means of draws spread less."""
    table = flip_sets.table
    drawn = table.filter(pc.starts_with(table["order"], "random_"))
    tables = {order: flip_sets.rows({"order": order}) for order in ORDERS} | {"random": drawn}
    return {order: _judged(found, column)[column] for order, found in tables.items()}


def _boxes(values: dict[str, np.ndarray], notes: dict[str, str], title: str, x: alt.X, width: int) -> alt.LayerChart:
    """A box plot for every order, with a note at its right."""
    names = [ORDERS[order] for order in values]
    rows = [{"what": ORDERS[order], "note": notes[order], **_box(found)} for order, found in values.items()]
    axis = alt.Axis(labelLimit=220, ticks=False, domain=False, grid=False)
    y = alt.Y("what:N", title=None, sort=names, axis=axis)
    base = alt.Chart(_data(rows)).encode(y)
    head = alt.Chart(_data([{"title": title}])).mark_text(align="left", color=MUTED, fontSize=11, x=width + 8, y=-8)
    layers = [
        base.mark_rule(color=GRID).encode(x=alt.value(0), x2=alt.value(width)),
        base.mark_rule(color=INK).encode(x, x2="high:Q"),
        base.mark_bar(height=15, fill="#9DB2C9", stroke=INK).encode(x="q1:Q", x2="q3:Q"),
        base.mark_tick(color=INK, opacity=1, thickness=3.5, height=21).encode(x="median:Q"),
        base.mark_text(align="left", x=width + 8, fontWeight=600).encode(text="note:N"),
        head.encode(text="title:N"),
    ]
    room = THEME["padding"] | {"left": 30}
    return _styled(alt.layer(*layers, width=width, height=alt.Step(34)).properties(padding=room))


def _box(values: np.ndarray) -> dict[str, float]:
    """Quartiles, and whiskers to the furthest number within 1.5 times their distance."""
    if not len(values):
        return {}
    q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75])
    reach = 1.5 * (q3 - q1)
    within = values[(values >= q1 - reach) & (values <= q3 + reach)]
    return {"low": within.min(), "q1": q1, "median": median, "q3": q3, "high": within.max()}

"""Weights removed until the decision flips, drawn (Serrano & Smith 2019)."""

from __future__ import annotations

from typing import Literal

import altair as alt
import numpy as np
import pyarrow.compute as pc

from attentest.challenges.flip_sets.presentation import ORDERS
from attentest.presentation.charts import GRID, INK, MUTED, THEME, data_of, judged_columns, styled, up_to
from attentest.presentation.text import value_of
from attentest.store.findings import Findings
from attentest.store.summary import estimate

__all__ = ["flip_set_boxes", "times_smallest_boxes"]


#: How wide boxes are drawn.
WIDTH = 340


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
    x = alt.X("low:Q", title="share of weights removed", scale=up_to(1), axis=axis)
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
    return {order: judged_columns(found, column)[column] for order, found in tables.items()}


def _boxes(values: dict[str, np.ndarray], notes: dict[str, str], title: str, x: alt.X, width: int) -> alt.LayerChart:
    """A box plot for every order, with a note at its right."""
    names = [ORDERS[order] for order in values]
    rows = [{"what": ORDERS[order], "note": notes[order], **_box(found)} for order, found in values.items()]
    axis = alt.Axis(labelLimit=220, ticks=False, domain=False, grid=False)
    y = alt.Y("what:N", title=None, sort=names, axis=axis)
    base = alt.Chart(data_of(rows)).encode(y)
    head = alt.Chart(data_of([{"title": title}])).mark_text(align="left", color=MUTED, fontSize=11, x=width + 8, y=-8)
    layers = [
        base.mark_rule(color=GRID).encode(x=alt.value(0), x2=alt.value(width)),
        base.mark_rule(color=INK).encode(x, x2="high:Q"),
        base.mark_bar(height=15, fill="#9DB2C9", stroke=INK).encode(x="q1:Q", x2="q3:Q"),
        base.mark_tick(color=INK, opacity=1, thickness=3.5, height=21).encode(x="median:Q"),
        base.mark_text(align="left", x=width + 8, fontWeight=600).encode(text="note:N"),
        head.encode(text="title:N"),
    ]
    room = THEME["padding"] | {"left": 30}
    return styled(alt.layer(*layers, width=width, height=alt.Step(34)).properties(padding=room))


def _box(values: np.ndarray) -> dict[str, float]:
    """Quartiles, and whiskers to the furthest number within 1.5 times their distance."""
    if not len(values):
        return {}
    q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75])
    reach = 1.5 * (q3 - q1)
    within = values[(values >= q1 - reach) & (values <= q3 + reach)]
    return {"low": within.min(), "q1": q1, "median": median, "q3": q3, "high": within.max()}

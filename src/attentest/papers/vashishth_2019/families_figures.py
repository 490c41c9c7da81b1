"""The families of tasks drawn side by side (Vashishth et al. 2019, figures 2 and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np

from attentest.errors import InputError
from attentest.papers.vashishth_2019.families import Panel
from attentest.presentation.charts import COLOURS, GRID, INK, MUTED, PALE, THEME, png, svg
from attentest.store.atomic import replacing, write_text

__all__ = ["changes_by_weight", "density", "effects_by_weight", "quantile", "write_chart"]

BINS = ("0 to .25", ".25 to .5", ".5 to .75", ".75 to 1")
#: Points at which a density is drawn, and the width of its kernel.
GRID_POINTS, KERNEL = 81, 0.025
#: Cells of the map of ΔJS, a side.
CELLS = 24


def changes_by_weight(panels: Sequence[Panel], *, columns: int = 3) -> alt.ConcatChart:
    """How the median change under permutation is spread, by the largest weight: a panel for every family."""
    return _beside([_violins(panel, number == 0) for number, panel in enumerate(panels)], columns, 52)


def effects_by_weight(panels: Sequence[Panel], *, columns: int = 3) -> alt.ConcatChart:
    """ΔJS of the top weight against the difference of weights: a panel for every family, with the median."""
    low = min([-0.1, *(float(np.quantile(panel.y, 0.001)) for panel in panels)])
    high = max([0.1, *(float(np.quantile(panel.y, 0.999)) for panel in panels)])
    return _beside([_map(panel, low, high, number == 0) for number, panel in enumerate(panels)], columns)


def write_chart(chart: alt.TopLevelMixin, target: Path) -> None:
    """The chart as a picture: the name ends in .svg or .png."""
    if target.suffix == ".svg":
        write_text(target, svg(chart))
    elif target.suffix == ".png":
        with replacing(target) as path:
            path.write_bytes(png(chart, scale=2))
    else:
        raise InputError(f"{target} must end in .svg or .png.")


def _beside(panels: list[Any], columns: int, spacing: int = 24) -> alt.ConcatChart:
    return alt.concat(*panels, columns=columns, spacing=spacing).properties(config=THEME)


def _violins(panel: Panel, first: bool) -> alt.LayerChart:
    """A density for every bin of the largest weight, its middle half, its median and how many texts it stands on."""
    at = np.linspace(0, 1, GRID_POINTS)
    place = np.minimum((panel.x * len(BINS)).astype(int), len(BINS) - 1)
    areas: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    for number in range(len(BINS)):
        values, weight = panel.y[place == number], panel.weight[place == number]
        marks.append({"y": number, "n": f"{len(values):,}"})
        if not len(values):
            continue
        q1, median, q3 = (quantile(values, weight, share) for share in (0.25, 0.5, 0.75))
        marks[-1] |= {"q1": q1, "median": median, "q3": q3}
        height = density(values, weight, at)
        half = 0.42 * height / height.max()
        areas += [
            {"x": x, "low": number - h, "high": number + h, "bin": number}
            for x, h in zip(at.tolist(), half.tolist(), strict=True)
        ]
    labels = f"{list(BINS)!r}[datum.value]".replace("'", '"')
    axis = alt.Axis(values=list(range(len(BINS))), labelExpr=labels, grid=False, ticks=False, domain=False)
    scale = alt.Scale(domain=[-0.5, len(BINS) - 0.5], nice=False)
    up = alt.Y("y:Q", title="largest attention weight" if first else None, scale=scale, axis=axis)
    x = alt.X("x:Q", title="median change of the prediction (TVD)", scale=alt.Scale(domain=[0, 1], nice=False))
    lines = alt.Chart(alt.Data(values=[{"y": n + 0.5} for n in range(len(BINS) - 1)]))
    area = alt.Chart(alt.Data(values=areas)).mark_area(color=COLOURS[0], fillOpacity=0.45, line=False)
    box = alt.Chart(alt.Data(values=marks)).encode(up)
    layers = [
        lines.mark_rule(color=GRID).encode(up),
        area.encode(x, alt.Y("low:Q", scale=scale, axis=axis), alt.Y2("high:Q"), alt.Detail("bin:N")),
        box.mark_rule(color=INK, strokeWidth=3).encode(x="q1:Q", x2="q3:Q"),
        box.mark_tick(color=INK, opacity=1, thickness=3.5, height=17).encode(x="median:Q"),
        box.mark_text(align="left", x=221, color=MUTED, fontSize=10.5).encode(text="n:N"),
    ]
    return alt.layer(*layers, title=_title(panel), width=216, height=280)


def _map(panel: Panel, low: float, high: float, first: bool) -> alt.LayerChart:
    """Where the points lie, darker where there are more of them, and the median along the difference of weights."""
    across, up = np.linspace(0, 1, CELLS + 1), np.linspace(low, high, CELLS + 1)
    y = np.clip(panel.y, low, high)
    counts, _, _ = np.histogram2d(panel.x, y, [across, up], weights=panel.weight)
    shade = np.sqrt(counts / counts.max()) if counts.max() > 0 else counts
    cells = [
        {"x": across[i], "x2": across[i + 1], "y": up[j], "y2": up[j + 1], "shade": float(shade[i, j])}
        for i, j in zip(*(axis.tolist() for axis in np.nonzero(counts)), strict=True)
    ]
    place = np.minimum((panel.x * CELLS / 2).astype(int), CELLS // 2 - 1)
    line = [
        {"x": (n + 0.5) / (CELLS / 2), "y": quantile(panel.y[place == n], panel.weight[place == n], 0.5)}
        for n in np.unique(place).tolist()
    ]
    x_axis = alt.X("x:Q", title="top weight less the other", scale=alt.Scale(domain=[0, 1], nice=False))
    y_axis = alt.Y("y:Q", title="ΔJS" if first else None, scale=alt.Scale(domain=[low, high], nice=False))
    opacity = alt.Opacity("shade:Q", scale=alt.Scale(domain=[0, 1], range=[0.08, 1]), legend=None)
    rect = alt.Chart(alt.Data(values=cells)).mark_rect(color=COLOURS[0])
    layers = [
        rect.encode(x_axis, y_axis, opacity, x2="x2:Q", y2="y2:Q"),
        alt.Chart(alt.Data(values=[{"y": 0}])).mark_rule(color=PALE, strokeDash=[4, 3]).encode(y_axis),
        alt.Chart(alt.Data(values=line)).mark_line(color=COLOURS[1], strokeWidth=2).encode(x_axis, y_axis),
    ]
    return alt.layer(*layers, title=_title(panel), width=216, height=216)


def _title(panel: Panel) -> alt.Title:
    return alt.Title(panel.family, subtitle=", ".join(panel.corpora), subtitleColor=MUTED, frame="group")


def density(values: np.ndarray, weight: np.ndarray, at: np.ndarray) -> np.ndarray:
    """A Gaussian kernel estimate from a fine histogram, so that its cost does not grow with the texts."""
    edges = np.linspace(0, 1, 401)
    counts, _ = np.histogram(np.clip(values, 0, 1), edges, weights=weight)
    middle = (edges[:-1] + edges[1:]) / 2
    # What would spill over an end is reflected, so that a density at 0 is not halved.
    distance = (at[:, None] - np.stack([middle, -middle, 2 - middle])[:, None, :]) / KERNEL
    return np.asarray((np.exp(-0.5 * distance**2) * counts).sum((0, 2)))


def quantile(values: np.ndarray, weight: np.ndarray, share: float) -> float:
    """The weighted quantile: the smallest value up to which that share of the weight lies."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weight[order])
    return float(values[order][min(int(np.searchsorted(total, share * total[-1])), len(values) - 1)])

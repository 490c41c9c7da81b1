"""Attention and predictions over seeds, drawn (Wiegreffe & Pinter 2019)."""

from __future__ import annotations

import altair as alt
import numpy as np

from attentest.presentation.charts import ACCENT, GRID, INK, LN2, MUTED, Rows, data_of, judged_columns, styled, up_to
from attentest.store.findings import Findings
from attentest.tasks import TEXTS, Wording

__all__ = ["seed_violins"]


#: The bins of the largest weight, from the bottom up, as in the permutation plot.
BINS = ("0 to .25", ".25 to .5", ".5 to .75", ".75 to 1")

#: A lane of the violins is this wide on either side of its middle.
HALF = 0.42


def seed_violins(seed_variance: Findings, wording: Wording = TEXTS, *, columns: int = 2) -> alt.ConcatChart:
    """How far attention and predictions lie from other seeds', by the largest weight: density and median."""
    rows = judged_columns(seed_variance.table, "attention_jsd", "prediction_tvd", "max_attention")
    bins = np.minimum((rows["max_attention"] * len(BINS)).astype(int), len(BINS) - 1)
    panels = [
        _violins(rows["attention_jsd"], bins, LN2, "attention: JSD to other seeds", wording, labelled=True),
        _violins(rows["prediction_tvd"], bins, 1.0, "predictions: TVD to other seeds", wording, labelled=columns == 1),
    ]
    return styled(alt.concat(*panels, columns=columns, spacing=24))


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
    x = alt.X("x:Q", title=title, scale=up_to(top), axis=alt.Axis(tickCount=5))
    body = alt.Chart(data_of(outline)).mark_area(fill=ACCENT, fillOpacity=0.3, stroke=ACCENT, strokeWidth=1)
    base = alt.Chart(data_of(marks)).encode(up)
    layers = [
        alt.Chart(data_of([{"y": lane + 0.5} for lane in range(len(BINS) - 1)])).mark_rule(color=GRID).encode(up),
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

"""What single tokens predict, drawn (Tutek & Šnajder 2020, section 5)."""

from __future__ import annotations

import altair as alt
import numpy as np
import pyarrow.compute as pc

from attentest.presentation.charts import COLOURS, INK, MUTED, data_of, styled
from attentest.store.findings import Findings
from attentest.store.summary import estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["token_histogram"]


def token_histogram(found: Findings, wording: Wording = TEXTS) -> alt.LayerChart:
    """The share of tokens by the probability that each alone gives the predicted class."""
    counts = _counts(found)
    edges = np.linspace(0, 1, len(counts) + 1)
    shares = [*(counts / max(counts.sum(), 1)), 0.0]
    steps = [{"x": x, "share": y} for x, y in zip(edges.tolist(), shares, strict=True)]
    title = f"probability of the predicted {wording.choice}"
    x = alt.X("x:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=5, grid=False))
    y = alt.Y("share:Q", title=f"share of {wording.items}", axis=alt.Axis(format=".0%", tickCount=4))
    area = alt.Chart(data_of(steps)).mark_area(
        interpolate="step-after", fillOpacity=0.28, color=COLOURS[0], line={"strokeWidth": 1.6}
    )
    layers = [area.encode(x, y)]
    named = {f"one {wording.item}": ("per_token", COLOURS[0]), f"the {wording.unit}": ("prediction", INK)}
    for row, (name, (measure, colour)) in enumerate(named.items()):
        value = estimate(found, measure).value
        base = alt.Chart(data_of([{"x": value, "text": f"■ {name}: mean {value:.2f}"}]))
        layers.append(base.mark_rule(color=colour, strokeDash=[4, 3], strokeWidth=1.5).encode(x))
        label = base.mark_text(align="left", baseline="top", fontSize=11.5, x=0, y=15 * row - 36, color=colour)
        layers.append(label.encode(text="text:N"))
    half = alt.Chart(data_of([{"x": 0.5}])).mark_rule(color=MUTED, strokeWidth=0.8).encode(x)
    return styled(alt.layer(*layers, half, width=380, height=220))


def _counts(found: Findings) -> np.ndarray:
    """How many tokens lie in each bin, over the judged texts."""
    judged = found.table.filter(pc.is_valid(found.table["histogram"]))["histogram"]
    if not len(judged):
        return np.zeros(1)
    counts: np.ndarray = np.asarray(pc.list_flatten(judged).to_numpy(), float).reshape(len(judged), -1).sum(0)
    return counts

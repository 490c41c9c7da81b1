"""What single tokens predict, drawn (Tutek & Šnajder 2020, section 5)."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np
import pyarrow.compute as pc

from attentest.challenges.token_predictions.curves import Curve, Text, curves_chart
from attentest.presentation.charts import COLOURS, INK, MUTED, data_of, styled
from attentest.presentation.presentation import Results
from attentest.store.findings import Findings
from attentest.store.summary import estimate
from attentest.tasks import TEXTS, Wording

__all__ = ["has_curves", "some_curves", "token_histogram"]

#: So many texts are drawn, none longer than this.
SHOWN, LONGEST, NARROW = 3, 40, 14


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


def has_curves(found: Findings) -> bool:
    """Whether there is a text to draw: older findings keep none."""
    return "alone" in found.table.column_names and bool(_shown(found, LONGEST))


def some_curves(found: Findings, results: Results, *, narrow: bool = False) -> Any:
    """Some texts that are predicted rightly, each with what its tokens predict; of narrow ones, short texts."""
    rows = (narrow and _shown(found, NARROW)) or _shown(found, LONGEST)
    texts = []
    for row in rows[:SHOWN]:
        predicted = row["predicted"]
        name = results.classes[predicted] if predicted < len(results.classes) else f"class {predicted}"
        curve = Curve("", [every[predicted] for every in row["alone"]], row["probability"])
        texts.append(Text(row["words"], f"{row['id']}: {name}", [curve]))
    return curves_chart(texts)


def _shown(found: Findings, longest: int) -> list[dict[str, Any]]:
    """The judged texts that keep what their tokens predict, but long ones."""
    table = found.table
    fits = pc.and_(pc.less_equal(table["tokens"], longest), pc.greater_equal(table["tokens"], 2))
    table = table.filter(pc.and_(fits, pc.and_(pc.is_valid(table["alone"]), pc.is_null(table["not_judged"]))))
    rows: list[dict[str, Any]] = table.select(["id", "predicted", "words", "alone", "probability"]).to_pylist()
    return rows


def _counts(found: Findings) -> np.ndarray:
    """How many tokens lie in each bin, over the judged texts."""
    judged = found.table.filter(pc.is_valid(found.table["histogram"]))["histogram"]
    if not len(judged):
        return np.zeros(1)
    counts: np.ndarray = np.asarray(pc.list_flatten(judged).to_numpy(), float).reshape(len(judged), -1).sum(0)
    return counts

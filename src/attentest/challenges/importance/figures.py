"""What attention's top words hold of what mattered, drawn."""

from __future__ import annotations

import altair as alt
import numpy as np

from attentest.presentation.charts import INK, MUTED, Palette, data_of, judged_columns, scatter, styled
from attentest.presentation.thresholds import THRESHOLDS
from attentest.store.findings import Findings

__all__ = ["applies", "held_by_text"]

#: The two ways that are drawn against each other.
ACROSS, UP = "delete", "mask"
#: What is lower is drawn at the edge.
LOWEST = -1.0


def held_by_text(found: Findings, palette: Palette) -> alt.LayerChart:
    """Every text by what is held when words are deleted and when unknown words take their place."""
    across, up = (
        judged_columns(found.rows({"explainer": "attention", "erasure": way}), "held") for way in (ACROSS, UP)
    )
    _, here, there = np.intersect1d(across["id"].astype(str), up["id"].astype(str), return_indices=True)
    x, y = (values.clip(min=LOWEST) for values in (across["held"][here], up["held"][there]))
    rows = {name: across[name][here] for name in ("id", "predicted")}
    scale = alt.Scale(domain=[min(-0.2, x.min(initial=0), y.min(initial=0)), 1.0], nice=False)
    right = alt.X("x:Q", title="held, words deleted", scale=scale)
    upward = alt.Y("y:Q", title="held, unknown words in their place", scale=scale)
    band = THRESHOLDS["text"]
    dashed = alt.Chart(data_of([{"mark": band.against}, {"mark": band.supports}])).mark_rule(
        color=MUTED, strokeDash=[4, 4]
    )
    mean = alt.Chart(data_of([{"x": x.mean(), "y": y.mean()}] if len(x) else []))
    layers = [
        dashed.encode(alt.X("mark:Q", scale=scale)),
        dashed.encode(alt.Y("mark:Q", scale=scale)),
        scatter(rows, palette, x, y).encode(right, upward, palette.encoding()),
        mean.mark_point(shape="cross", size=160, color=INK, filled=True).encode(right, upward),
    ]
    return styled(alt.layer(*layers, width=330, height=330))


def applies(found: Findings) -> bool:
    """Whether both ways were asked."""
    return {ACROSS, UP} <= set(found.table["erasure"].unique().to_pylist())

"""How steady explanations are under small changes, drawn."""

from __future__ import annotations

import altair as alt

from attentest.presentation.charts import COLOURS, MUTED, curve, data_of, interval_of_estimate, styled
from attentest.presentation.text import visible
from attentest.registry import name_in_words
from attentest.store.findings import Findings
from attentest.store.summary import estimate

__all__ = ["overlap_curves"]


def overlap_curves(fragility: Findings) -> alt.HConcatChart:
    """The overlap of top tokens against the size of change: a line an explainer, searched and random side by side."""
    measures = [m for m in fragility.measures if m.column == "overlap"]
    names = list(dict.fromkeys(m.where["explainer"] for m in measures))
    called = {name: visible(name_in_words(name, names), 40) for name in names}
    rows = [
        interval_of_estimate(found)
        | {name: m.where[name] for name in ("size", "way")}
        | {"explainer": called[m.where["explainer"]]}
        for m in measures
        if (found := estimate(fragility, m)).judged
    ]
    colours = [COLOURS[i] if i < len(COLOURS) else MUTED for i in range(len(names))]
    legend = alt.Legend(columns=2, symbolType="circle", labelLimit=170)
    colour = alt.Color("explainer:N", scale=alt.Scale(domain=list(called.values()), range=colours), legend=legend)
    sizes = sorted({row["size"] for row in rows}, key=float)
    x = alt.X("size:N", sort=sizes, title="size of change", axis=alt.Axis(labelAngle=0))
    beside = alt.XOffset("explainer:N", sort=list(called.values()), scale=alt.Scale(type="point", padding=2))
    panels = []
    for way in ("searched", "random"):
        title = "overlap of the top words" if way == "searched" else None
        y = alt.Y("value:Q", title=title, scale=alt.Scale(domain=[0, 1]))
        base = alt.Chart(data_of([row for row in rows if row["way"] == way])).encode(x, beside, color=colour)
        panels.append(alt.layer(*curve(base, y), width=210, height=230, title=way))
    return styled(alt.hconcat(*panels))

"""How explainers agree, drawn (Jain & Wallace 2019)."""

from __future__ import annotations

import altair as alt
import numpy as np
import pyarrow.compute as pc

from attentest.presentation.charts import (
    ACCENT,
    ALL,
    INK,
    PALE,
    Columns,
    Palette,
    Rows,
    data_of,
    histogram_steps,
    interval_chart,
    judged_columns,
    measured_interval,
    reference_line,
    styled,
)
from attentest.presentation.text import pair_in_words, visible
from attentest.store.findings import Findings, Measure
from attentest.tasks import TEXTS, Wording

__all__ = ["agreement_overview", "tau_histograms"]


PAIRS = ("attention~gradient", "attention~leave_one_out", "gradient~leave_one_out")


def tau_histograms(
    agreement: Findings, palette: Palette, wording: Wording = TEXTS, *, columns: int = 3
) -> alt.ConcatChart:
    """Kendall τ per predicted class, a panel for each pair, with its mean and the share significant."""
    judged = {pair: judged_columns(agreement.rows({"pair": pair}), "tau", "significant") for pair in PAIRS}
    panels = [_tau_panel(pair, rows, palette, wording) for pair, rows in judged.items() if len(rows["tau"])]
    return styled(alt.concat(*panels, columns=columns, spacing=28).resolve_scale(y="shared"))


def _tau_panel(pair: str, rows: Columns, palette: Palette, wording: Wording) -> alt.LayerChart:
    tau, group = rows["tau"], palette.groups(rows["predicted"])
    each = {palette.names[g]: group == g for g in np.unique(group).tolist()}
    drawn = each if len(each) <= 3 else {ALL: group >= 0}
    edges = np.linspace(-1, 1, 41 if len(tau) >= 600 else 21)
    steps = [row for name, chosen in drawn.items() for row in histogram_steps(tau[chosen], edges, name)]
    colour = palette.encoding(ALL, legend=False)
    x = alt.X("x:Q", title="Kendall τ", scale=alt.Scale(domain=[-1, 1]), axis=alt.Axis(tickCount=5, grid=False))
    y = alt.Y("share:Q", stack=None, title=f"share of {wording.units}", axis=alt.Axis(format=".0%", tickCount=4))
    area = alt.Chart(data_of(steps)).mark_area(interpolate="step-after", fillOpacity=0.28, line={"strokeWidth": 1.6})
    layers = [alt.Chart(data_of([{"x": 0}])).mark_rule(color=PALE).encode(x), area.encode(x, y, colour)]
    for line, (name, chosen) in enumerate(each.items()):
        mean, significant, count = tau[chosen].mean(), rows["significant"][chosen].mean(), int(chosen.sum())
        text = f"■ {visible(name, 15)}, n {count:,}: mean {mean:.2f}, {significant:.0%} sig."
        base = alt.Chart(data_of([{"x": mean, "class": name, "text": text}])).encode(color=colour)
        layers.append(base.mark_rule(strokeDash=[4, 3], strokeWidth=1.5).encode(x))
        label = base.mark_text(align="left", baseline="top", fontSize=11.5, x=0, y=15 * (line - len(each)) - 6)
        layers.append(label.encode(text="text:N"))
    title = _titled(pair)
    return alt.layer(*layers, title=alt.Title(title, frame="group"), width=262, height=170)


def agreement_overview(agreement: Findings, wording: Wording = TEXTS, *, width: int = 175) -> alt.LayerChart:
    """For every pair of scores, the effect captured by the top words and mean τ, with 95 % intervals."""
    kinds = {"captured": "effect captured by top words", "tau": "Kendall τ"}
    kinds = {column: words for column, words in kinds.items() if column in agreement.table.column_names}
    rows: Rows = []
    pairs = pc.unique(agreement.table["pair"]).to_pylist()
    for pair in sorted(pairs, key=lambda pair: not pair.startswith("attention~")):
        for column, words in kinds.items():
            measure = Measure("", column, "mean", "", {"pair": pair})
            rows.append(measured_interval(agreement, measure, None) | {"what": _titled(pair), "class": words})
    names = list(kinds.values())
    scale = alt.Scale(domain=names, range=[INK, ACCENT][-len(names) :])
    colour = alt.Color("class:N", scale=scale, legend=alt.Legend(columns=1, symbolType="circle"))
    x = alt.X("value:Q", title=[f"mean over {wording.units},", "with 95 % interval"], axis=alt.Axis(tickCount=3))
    return interval_chart(rows, x, colour, names, reference_line("x", 0, ""), width)


def _titled(pair: str) -> str:
    """The pair in words; the paper's control is called so."""
    return pair_in_words(pair) + (" (control)" if pair == "gradient~leave_one_out" else "")

"""The figures of the paper's page: what is lost under other weights, and Figure 1, the curve of imitation."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import altair as alt

from attentest.papers.evidence import Cell
from attentest.papers.tutek_snajder_2020.variants import VARIANTS, Variant, imitated, variants
from attentest.presentation.charts import COLOURS, INK, MUTED, PALE, THEME
from attentest.report.claims.figures import PaperFigure

__all__ = ["figures"]

FRAGILE = (
    "Points are ours, with 95 % intervals over seeds; open diamonds are the paper's, which prints none for the "
    "residual model. The lower, the more of F1 goes with the trained weights."
)
IMITATED = (
    "Adversaries trained to predict as the model does and to attend elsewhere (the paper's equation 6), one point for "
    "each λ. A curve further up says that attending elsewhere costs more of the predictions. The paper's Figure 1 "
    "prints no numbers; there the curve of the MLM model lies above that of the base model."
)


def figures(cells: Sequence[Cell]) -> Iterator[PaperFigure]:
    """Those that finished runs have findings for."""
    if found := variants(cells):
        seeds = {len(variant.change.seeds) for variant in found}
        basis = f"{len(found)} means, each over {' or '.join(map(str, sorted(seeds)))} seeds"
        yield PaperFigure("What is lost of F1 under other weights", FRAGILE, basis, partial(fragility, found))
    if rows := imitated(cells):
        corpora = ", ".join(dict.fromkeys(str(row["corpus"]) for row in rows))
        yield PaperFigure("What it costs to attend elsewhere", IMITATED, corpora, partial(imitation, rows))


def fragility(found: Sequence[Variant], *, columns: int = 4) -> alt.ConcatChart:
    """A panel for every corpus and kind of weights; variants side by side, attentions by colour."""
    corpora = list(dict.fromkeys(variant.corpus for variant in found))
    panels = [
        _panel([one for one in found if (one.corpus, one.weights) == (corpus, weights)], f"{corpus}, {weights}")
        for weights in ("uniform", "permuted")
        for corpus in corpora
    ]
    return alt.concat(*panels, columns=columns, spacing=24).properties(config=THEME)


def _panel(found: Sequence[Variant], title: str) -> alt.LayerChart:
    rows: list[dict[str, Any]] = []
    for one in found:
        row = {"model": one.model, "attention": one.attention.replace("scaled_", ""), "ours": one.change.value}
        if math.isfinite(one.change.half):
            row |= {"low": one.change.low, "high": one.change.high}
        rows.append(row if one.published is None else row | {"published": one.published})
    x = alt.X("model:N", title=None, sort=list(VARIANTS), axis=alt.Axis(labelAngle=-35))
    names = ["additive", "dot"]
    shift = alt.XOffset("attention:N", sort=names)
    colour = alt.Color("attention:N", title="attention", scale=alt.Scale(domain=names, range=list(COLOURS[:2])))
    base = alt.Chart(alt.Data(values=rows)).encode(x, shift, color=colour)
    y = alt.Y("ours:Q", title="change of F1, points")
    layers = [
        alt.Chart(alt.Data(values=[{"y": 0}])).mark_rule(color=PALE).encode(alt.Y("y:Q")),
        base.mark_rule(strokeWidth=2, opacity=0.6).encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        base.mark_circle(size=46, opacity=1).encode(y),
        base.mark_point(shape="diamond", size=46, strokeWidth=1.4, filled=False).encode(alt.Y("published:Q")),
    ]
    return alt.layer(*layers, title=alt.Title(title, frame="group"), width=190, height=190)


def imitation(rows: Sequence[dict[str, Any]], *, columns: int = 4) -> alt.ConcatChart:
    """A panel for every corpus: JSD of attention against TVD of predictions."""
    panels = []
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        chosen = sorted((row for row in rows if row["corpus"] == corpus), key=lambda row: row["weight"])
        base = alt.Chart(alt.Data(values=chosen)).encode(
            alt.X("jsd:Q", title="JSD of attention", scale=alt.Scale(domain=[0, 0.7])),
            alt.Y("tvd:Q", title="TVD of predictions"),
            alt.Color("model:N", title="imitated", scale=alt.Scale(domain=["base", "mlm"], range=list(COLOURS[:2]))),
        )
        line = base.mark_line(strokeDash=[3, 2]).encode(order="weight:Q")
        title = alt.Title(str(corpus), color=INK, subtitleColor=MUTED, frame="group")
        panels.append(alt.layer(line, base.mark_circle(size=40, opacity=1), title=title, width=190, height=190))
    return alt.concat(*panels, columns=columns, spacing=24).properties(config=THEME)

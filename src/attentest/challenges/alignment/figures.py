"""Attention while a sentence is translated, as a picture: target words by source words, with the given links."""

from __future__ import annotations

import json
from collections.abc import Sequence

import altair as alt
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.presentation.charts import COLOURS, GRID, INK, THEME
from attentest.presentation.text import pair_in_words, visible_token
from attentest.store.findings import Findings

__all__ = ["alignment_map", "heat_map", "shown_sentence"]

#: Pixels of a cell, and the longest word that is written out.
CELL, LONGEST = 26, 18
#: Lengths of sentences that are easy to read, in words of the target.
LEGIBLE = (8, 16)
GIVEN, PROPOSED = "given link", "highest score"


def shown_sentence(alignment: Findings, explainer: str = "attention") -> str | None:
    """A sentence that stands for the others: the one with the median share of errors, among those easy to read."""
    table = alignment.rows({"explainer": explainer})
    table = table.filter(pc.is_null(table["not_judged"]))
    sums = table.group_by("sentence").aggregate([("proposed", "sum"), ("errors", "sum"), ("total", "sum")])
    words = sums["proposed_sum"].to_numpy()
    legible = (words >= LEGIBLE[0]) & (words <= LEGIBLE[1])
    if not len(words):
        return None
    chosen = np.flatnonzero(legible if legible.any() else words >= 1)
    sentences = sums["sentence"].to_numpy()[chosen].astype(str)
    share = sums["errors_sum"].to_numpy()[chosen] / sums["total_sum"].to_numpy()[chosen]
    order = np.lexsort((sentences, share))
    return str(sentences[order[(len(order) - 1) // 2]])


def alignment_map(alignment: Findings, sentence: str, explainer: str = "attention") -> alt.LayerChart:
    """The picture of one sentence, from findings that keep words, links and scores."""
    table = alignment.rows({"explainer": explainer})
    table = table.filter(pc.and_(pc.equal(table["sentence"], sentence), pc.is_null(table["not_judged"])))
    table = table.sort_by("step")
    scores, linked = (_matrix(table[column]) for column in ("scores", "linked"))
    return heat_map(
        table["tokens"][0].as_py(), table["word"].to_pylist(), scores.astype(np.float64), linked.astype(bool), explainer
    )


def heat_map(
    source: Sequence[str], target: Sequence[str], scores: np.ndarray, linked: np.ndarray, explainer: str = "attention"
) -> alt.LayerChart:
    """Scores [target word, source word] as shades, given links outlined, a dot on the highest of each target word."""
    largest = scores.max(-1, keepdims=True)
    # Scores that are not weights are shown relative to the largest of their word.
    weights = bool(np.allclose(scores.sum(-1), 1, atol=1e-3) and (scores >= 0).all())
    shades = scores if weights else scores / np.where(largest > 0, largest, 1)
    top = scores.argmax(-1)
    cells = [
        {"s": s, "t": t, "score": float(shades[t, s]), "of": GIVEN if linked[t, s] else ""}
        for t in range(len(target))
        for s in range(len(source))
    ]
    best = [{"s": int(s), "t": t, "of": PROPOSED, "dark": bool(shades[t, s] > 0.55)} for t, s in enumerate(top)]
    x = alt.X(
        "s:O", title="source", axis=_axis(source, orient="top", labelAngle=-50, labelAlign="left", labelOffset=-4)
    )
    y = alt.Y("t:O", title="translation", axis=_axis(target))
    title = pair_in_words(explainer) if weights else f"{pair_in_words(explainer)}, of the highest"
    shade = alt.Color(
        "score:Q",
        scale=alt.Scale(domain=[0, 1], range=["#FFFFFF", "#9CC7E6", COLOURS[0], "#08304F"], interpolate="rgb"),
        legend=alt.Legend(
            title=title, titleFontWeight="normal", gradientLength=110, tickCount=3, orient="right", offset=18
        ),
    )
    shown = alt.Stroke(
        "of:N",
        scale=alt.Scale(domain=[GIVEN], range=[COLOURS[1]]),
        legend=alt.Legend(title=None, symbolType="square", symbolStrokeWidth=2.4, orient="right", offset=18),
    )
    dot = alt.Fill(
        "of:N",
        scale=alt.Scale(domain=[PROPOSED], range=[INK]),
        legend=alt.Legend(title=None, symbolType="circle", symbolSize=34, orient="right", offset=18),
    )
    base = alt.Chart(alt.Data(values=cells)).encode(x, y)
    ringed = alt.Stroke("dark:N", scale=alt.Scale(domain=[True, False], range=["#FFFFFF", INK]), legend=None)
    given = base.transform_filter(alt.datum.of == GIVEN)
    layers = [
        base.mark_rect(stroke=GRID, strokeWidth=0.6).encode(shade),
        given.mark_rect(fill=None, fillOpacity=0, strokeWidth=2.4).encode(shown),
        alt.Chart(alt.Data(values=best)).mark_circle(size=34, opacity=1, strokeWidth=1).encode(x, y, dot, ringed),
    ]
    chart = alt.layer(*layers, width=CELL * len(source), height=CELL * len(target))
    return chart.resolve_scale(color="independent", stroke="independent", fill="independent").properties(config=THEME)


def _axis(words: Sequence[str], **choices: object) -> alt.Axis:
    """Words in the place of positions: the same word may stand in several."""
    shown = json.dumps([visible_token(word, LONGEST) for word in words])
    return alt.Axis(
        labelExpr=f"{shown}[datum.value]",
        grid=False,
        ticks=False,
        domain=False,
        labelFontSize=12,
        labelColor=INK,
        labelLimit=160,
        labelOverlap=False,
        **choices,
    )


def _matrix(column: pa.ChunkedArray) -> np.ndarray:
    return np.array(column.to_pylist())

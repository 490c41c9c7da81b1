"""What every token of one text predicts, drawn as a line over the text (Tutek & Šnajder 2020, Figures 2 to 7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt

from attentest.presentation.charts import COLOURS, GRID, INK, MUTED, THEME, Rows, data_of, styled
from attentest.presentation.text import visible, visible_token

__all__ = ["Curve", "Text", "curves_chart", "token_curves"]

#: A word takes at most so many pixels, and all of them about so many; below the last, words are not written.
WIDEST, ALL, NARROWEST = 26.0, 880.0, 9.0
HEIGHT = 170


class Curve(NamedTuple):
    """One model's line: what each token alone, and the whole text, give a class."""

    name: str
    alone: Sequence[float]
    own: float


class Text(NamedTuple):
    """One text with the lines of some models."""

    words: Sequence[str]
    title: str
    curves: Sequence[Curve]


def token_curves(text: Text, names: Sequence[str]) -> alt.LayerChart:
    """A line for every model over the words, its own prediction dashed in the same colour, and .5 marked."""
    step = max(2.0, min(WIDEST, ALL / len(text.words)))
    width = step * len(text.words)
    x = alt.X("x:Q", title=None, axis=None, scale=alt.Scale(domain=[-0.5, len(text.words) - 0.5], nice=False))
    axis = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2f")
    y = alt.Y("y:Q", title="probability", scale=alt.Scale(domain=[0, 1]), axis=axis)
    colour = alt.Color(
        "model:N",
        title=None,
        scale=alt.Scale(domain=list(names), range=[COLOURS[i % len(COLOURS)] for i in range(len(names))]),
        legend=alt.Legend(orient="top", symbolType="stroke", labelLimit=300, columns=3) if len(names) > 1 else None,
    )
    points: Rows = [
        {"x": place, "y": value, "model": curve.name}
        for curve in text.curves
        for place, value in enumerate(curve.alone)
    ]
    own: Rows = [{"y": curve.own, "model": curve.name} for curve in text.curves]
    line = alt.Chart(data_of(points)).encode(x, y, colour)
    layers = [
        alt.Chart(data_of([{"y": 0.5}])).mark_rule(color=MUTED, strokeWidth=1).encode(y),
        alt.Chart(data_of(own)).mark_rule(strokeDash=[4, 3], strokeWidth=1.6).encode(y, colour),
        line.mark_line(strokeWidth=1.8),
        line.mark_circle(size=30, opacity=1),
    ]
    if step >= NARROWEST:
        words: Rows = [{"x": place, "word": visible_token(word, 16)} for place, word in enumerate(text.words)]
        shown: dict[str, Any] = {"angle": 300, "align": "right", "baseline": "middle", "color": INK, "fontSize": 11}
        layers.insert(0, alt.Chart(data_of(words)).mark_rule(color=GRID).encode(x))
        layers.append(alt.Chart(data_of(words)).mark_text(y=HEIGHT + 8, **shown).encode(x, text="word:N"))
    title = alt.TitleParams(visible(text.title, 90), anchor="start", fontSize=12, fontWeight=500)
    return alt.layer(*layers, width=width, height=HEIGHT, title=title)


def curves_chart(texts: Sequence[Text]) -> Any:
    """Some texts below each other, every model in one colour."""
    names = list(dict.fromkeys(visible(curve.name, 40) for text in texts for curve in text.curves))
    shown = [
        text._replace(curves=[curve._replace(name=visible(curve.name, 40)) for curve in text.curves]) for text in texts
    ]
    panels = [token_curves(text, names) for text in shown]
    chart = styled(panels[0] if len(panels) == 1 else alt.vconcat(*panels, spacing=30))
    # Words below the last panel need room where a reader's font is wider than the renderer's.
    return chart.properties(padding=THEME["padding"] | {"bottom": 30, "left": 30})

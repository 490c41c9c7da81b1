"""The figure of docs/explanation/sources.md: how often every method, and every layer, finds the deciding source."""

from __future__ import annotations

from typing import Any

import altair as alt

from attentest.presentation.charts import COLOURS, data_of, styled
from attentest.registry import name_in_words
from attentest.statistics.intervals import Interval

LOOKS, CHANGES, NONE = "only looks at attention", "changes the context", "asks no model"
KIND = {"shared_words": NONE, "last": NONE, "random": NONE}


def kind_of(method: str) -> str:
    """Whether a method looks, changes or does neither."""
    return KIND.get(method, LOOKS if method.startswith(("attention", "rollout", "learnt")) else CHANGES)


def figure(methods: dict[str, Interval], layers: list[Interval]) -> Any:
    """Dots with intervals: methods on the left, layers on the right."""
    order = sorted(methods, key=lambda name: -methods[name].value)
    shown = [
        {"method": _short(name), "kind": kind_of(name), **_percent(methods[name])}
        for name in order
    ]  # fmt: skip
    base = alt.Chart(data_of(shown)).encode(
        alt.Y("method:N", title=None, sort=None, axis=alt.Axis(labelLimit=260, ticks=False, domain=False)),
        alt.Color("kind:N", title=None, sort=[LOOKS, CHANGES, NONE], legend=alt.Legend(orient="bottom", columns=1))
        .scale(range=COLOURS[:3]),
    )  # fmt: skip
    x = alt.X("value:Q", title="deciding source found, %").scale(domain=[0, 100])
    left = alt.layer(
        base.mark_rule(strokeWidth=2).encode(x="low:Q", x2="high:Q"),
        base.mark_circle(size=60, opacity=1).encode(x),
        width=250,
        height=alt.Step(18),
    )
    every = [{"layer": number, **_percent(each)} for number, each in enumerate(layers, 1)]
    chart = alt.Chart(data_of(every)).encode(
        alt.X("layer:Q", title="layer, heads averaged").scale(domain=[1, len(layers)])
    )
    band = chart.mark_area(opacity=0.2, color=COLOURS[0]).encode(
        alt.Y("low:Q", title="deciding source found, %").scale(domain=[0, 100]), alt.Y2("high:Q")
    )
    line = chart.mark_line(color=COLOURS[0], point=True).encode(alt.Y("value:Q"))
    right = alt.layer(band, line, width=250, height=18 * len(shown))
    # Browsers' letters are wider than the renderer takes them to be.
    return styled(alt.hconcat(left, right, spacing=24)).properties(
        padding={"left": 24, "right": 8, "top": 5, "bottom": 5}
    )


def _short(name: str) -> str:
    return name_in_words(name).replace(" (pool ", ", ").replace("value weighted", "by value").removesuffix(")")


def _percent(found: Interval) -> dict[str, float]:
    return {name: 100 * value for name, value in zip(("value", "low", "high"), found, strict=True)}

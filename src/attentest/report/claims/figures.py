"""Figures of a paper's page: published against ours, with the tolerance as a band, and those that are its own."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from attentest.papers import Paper
from attentest.papers.claims import Claim
from attentest.papers.evidence import Cell
from attentest.papers.outcomes import Outcome
from attentest.presentation.charts import COLOURS, MUTED, THEME
from attentest.report.claims.view import View

__all__ = ["PaperFigure", "drawn", "figures_of", "scatter"]

LIKE, UNLIKE = "like for like", "not like for like"
BAND = "#EEF1F4"


@dataclass(frozen=True)
class PaperFigure:
    """A figure after one of a paper's, drawn from finished runs: its title, how it is read, what it stands on."""

    title: str
    reading: str
    basis: str
    #: The chart, its panels in so many columns.
    draw: Callable[..., alt.TopLevelMixin]


def figures_of(paper: Paper, cells: Sequence[Cell]) -> tuple[PaperFigure, ...]:
    """What ``figures(cells)`` in the paper's figures.py draws; nothing where its folder has none."""
    if paper.text("figures.py") is None:
        return ()
    return tuple(importlib.import_module(f"{paper.package}.figures").figures(cells))


def drawn(view: View) -> dict[str, list[Outcome]]:
    """The compared figures that share a scale, by panel; counts have none and stand in the tables alone."""
    found: dict[str, list[Outcome]] = {}
    for outcome in view.figures:
        assert isinstance(outcome.claim, Claim)
        panel = view.claims.rules.measures[outcome.claim.measure].panel
        if outcome.settled and panel and math.isfinite(outcome.ours):
            found.setdefault(panel, []).append(outcome)
    return found


def scatter(view: View, *, columns: int = 3) -> alt.ConcatChart:
    """All panels; colour says whether ours agrees, shape whether it is like for like."""
    panels = [_panel(view, title, outcomes) for title, outcomes in drawn(view).items()]
    chart = alt.concat(*panels, columns=columns, spacing=28)
    return chart.resolve_scale(color="shared", shape="shared").properties(config=THEME)


def _panel(view: View, title: str, outcomes: list[Outcome]) -> alt.LayerChart:
    rows = [_row(outcome) for outcome in outcomes]
    ends = [row[name] for row in rows for name in ("x", "y", "low", "high") if row[name] is not None]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low) or 0.05
    low, high = low - room, high + room
    tolerance = max(_tolerance(view, outcome) for outcome in outcomes)
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    x = alt.X("x:Q", title="published", scale=scale, axis=alt.Axis(tickCount=5))
    y = alt.Y("y:Q", title="ours", scale=scale, axis=alt.Axis(tickCount=5))
    turns = sorted({low, high, min(low + tolerance, high), max(high - tolerance, low)})
    # Cut by hand: a clipped mark gets an id that differs from one rendering to the next.
    band = [{"x": v, "from": max(low, v - tolerance), "to": min(high, v + tolerance)} for v in turns]
    diagonal = alt.Chart(alt.Data(values=[{"x": v, "y": v} for v in (low, high)]))
    colour = alt.Color(
        "outcome:N",
        scale=alt.Scale(domain=["agrees", "differs", "unsettled"], range=[COLOURS[0], COLOURS[1], MUTED]),
        legend=alt.Legend(symbolType="circle", columns=3),
    )
    shape = alt.Shape(
        "likeness:N",
        scale=alt.Scale(domain=[LIKE, UNLIKE], range=["circle", "triangle-up"]),
        legend=alt.Legend(columns=2),
    )
    points = alt.Chart(alt.Data(values=rows))
    area = alt.Chart(alt.Data(values=band)).mark_area(color=BAND)
    layers = [
        area.encode(x, alt.Y("from:Q", scale=scale, title="ours"), alt.Y2("to:Q")),
        diagonal.mark_line(color=MUTED, strokeWidth=1).encode(x, y),
        points.mark_rule(opacity=0.35).encode(x, alt.Y("low:Q", scale=scale), alt.Y2("high:Q"), color=colour),
        points.mark_point(filled=True, size=38, opacity=0.8).encode(x, y, color=colour, shape=shape),
    ]
    shown = alt.Title(title, subtitle=f"agrees: the interval within {tolerance:g}", subtitleColor=MUTED)
    return alt.layer(*layers, title=shown, width=250, height=250)


def _tolerance(view: View, outcome: Outcome) -> float:
    assert isinstance(outcome.claim, Claim)
    return view.claims.rules.measure(outcome.claim.measure, outcome.claim.group).tolerance


def _row(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome.claim, Claim)
    ends = {
        name: value if math.isfinite(value) else None for name, value in (("low", outcome.low), ("high", outcome.high))
    }
    return {
        "x": outcome.claim.value,
        "y": outcome.ours,
        **ends,
        "outcome": outcome.status,
        "likeness": LIKE if outcome.like_for_like else UNLIKE,
    }

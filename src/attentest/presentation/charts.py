"""What every chart shares: colours, theme, points, reference lines and intervals, as Altair charts.

Every number drawn (bins, medians, intervals) is computed from all judged rows. Only points are ever thinned out, to
``POINTS`` of them, by a hash of the instance's id, whatever the order of the rows.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import altair as alt
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.presentation.rendering import NoPicture, rendered
from attentest.presentation.text import visible
from attentest.store.findings import Findings, Measure
from attentest.store.summary import Estimate, estimate

__all__ = [
    "ACCENT",
    "ALL",
    "COLOURS",
    "GRID",
    "INK",
    "LN2",
    "MUTED",
    "PALE",
    "POINTS",
    "THEME",
    "Columns",
    "Palette",
    "Rows",
    "curve",
    "data_of",
    "histogram_steps",
    "image",
    "interval_chart",
    "interval_of_estimate",
    "judged_columns",
    "measured_interval",
    "pdf",
    "png",
    "reference_line",
    "scatter",
    "styled",
    "svg",
    "up_to",
]


POINTS = 1500

LN2 = math.log(2)

#: The class of what is drawn for all classes together; nobody reads it.
ALL = "all"

#: Okabe & Ito's colours, which people with any colour vision can tell apart, without the palest two.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#56B4E9", "#E69F00")

INK, MUTED, PALE, GRID = "#1F2933", "#5F6B7A", "#C3CCD6", "#E6EAEF"

ACCENT = "#8A63D2"

#: The look of every chart. ARIA is off in it: the page's alt text speaks for the picture. Its padding and that
#: of legends leave room for readers whose fonts are wider than the renderer's.
THEME = json.loads((resources.files("attentest.presentation") / "theme.json").read_text("utf-8"))

#: A dot as the renderer writes it; as a circle it takes half the bytes, and a figure has thousands.
DOT = re.compile(
    r'<path transform="translate\(([-\d.e]+),([-\d.e]+)\)" d="M([\d.]+),0A\3,\3,0,1,1,-\3,0A\3,\3,0,1,1,\3,0"'
)

#: In the place of a chart where the renderer cannot run; what was found does not depend on it.
NOT_DRAWN = f"""<svg xmlns="http://www.w3.org/2000/svg" width="460" height="60" viewBox="0 0 460 60">
<g font-family="sans-serif" font-size="13">
<text x="8" y="24" fill="{INK}">This figure could not be drawn on this machine.</text>
<text x="8" y="44" fill="{MUTED}">Its numbers stand in the tables and in the findings. (ulimit -v unlimited)</text>
</g></svg>"""

Columns = dict[str, np.ndarray]

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Palette:
    """One colour for one predicted class, everywhere; beyond six classes the rarer ones share grey."""

    names: tuple[str, ...]
    colours: tuple[str, ...]
    group_of: tuple[int, ...]

    @classmethod
    def of(cls, classes: Sequence[str], predicted: Iterable[int]) -> Palette:
        """The colours of a run, from its class names and the classes it predicted."""
        counts = np.bincount(np.fromiter(predicted, dtype=np.int64), minlength=len(classes))
        shown = [visible(name, 28) for name in classes]
        shown += [f"class {c}" for c in range(len(shown), len(counts))]
        shown = [name if shown.count(name) == 1 else f"{name} ({c})" for c, name in enumerate(shown)]
        kept = sorted(np.argsort(-counts, kind="stable")[: len(COLOURS)].tolist())
        rest = len(shown) - len(kept)
        names = [shown[c] for c in kept] + [f"{rest} other classes"] * (rest > 0)
        groups = tuple(kept.index(c) if c in kept else len(kept) for c in range(len(shown)))
        return cls(tuple(names), (*COLOURS[: len(kept)], "#8A94A0")[: len(names)], groups)

    @classmethod
    def one(cls, name: str, predicted: Iterable[int]) -> Palette:
        """One colour for all, where classes are too many to mean anything, such as words."""
        return cls((name,), COLOURS[:1], (0,) * (max(predicted, default=0) + 1))

    def groups(self, predicted: np.ndarray) -> np.ndarray:
        """The index of each instance's name and colour."""
        return np.asarray(self.group_of, dtype=np.int64)[predicted.astype(np.int64)]

    def encoding(self, *first: str, legend: bool = True) -> alt.Color:
        """The colour of the field ``class``; ``first`` names what is not one class, drawn in ink."""
        scale = alt.Scale(domain=[*first, *self.names], range=[INK] * len(first) + list(self.colours))
        columns = 3 if max(map(len, self.names), default=0) <= 14 else 1
        shown = alt.Legend(columns=columns, symbolType="circle") if legend else None
        return alt.Color("class:N", scale=scale, legend=shown)


def svg(chart: alt.TopLevelMixin) -> str:
    """The chart as SVG text, rendered without the network."""
    text = rendered(chart.to_dict(validate=False), "svg").decode()
    return DOT.sub(lambda m: f'<circle cx="{float(m[1]):.1f}" cy="{float(m[2]):.1f}" r="{m[3]}"', text)


def png(chart: alt.TopLevelMixin, scale: float = 3) -> bytes:
    """The chart as a PNG file of three times its size, sharp enough to print, rendered without the network."""
    return rendered(chart.to_dict(validate=False), "png", scale)


def pdf(chart: alt.TopLevelMixin) -> bytes:
    """The chart as PDF, of lines and letters."""
    return rendered(chart.to_dict(validate=False), "pdf")


def image(chart: alt.TopLevelMixin) -> str:
    """The chart as an address that a page can hold; where none can be drawn, a picture that says so."""
    try:
        text = svg(chart)
    except NoPicture:
        text = NOT_DRAWN
    return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()


def styled(chart: Any) -> Any:
    """The chart in the look of all charts."""
    return chart.properties(config=THEME)


def data_of(rows: Rows) -> alt.Data:
    """Rows as a chart takes them: as a tuple, since Altair copies lists, row by row, at every step."""
    return alt.Data(values=tuple(rows))


def up_to(top: float) -> alt.Scale:
    """A scale from zero to just this value."""
    return alt.Scale(domain=[0, top], nice=False)


def judged_columns(table: pa.Table, *columns: str) -> Columns:
    """The columns over the judged rows, with id and predicted class, free of gaps."""
    judged = table.filter(pc.is_null(table["not_judged"])) if "not_judged" in table.column_names else table
    found = {name: judged[name].cast(pa.float64()).to_numpy() for name in columns}
    whole = np.all([np.isfinite(values) for values in found.values()], axis=0)
    found |= {"id": np.array(judged["id"].to_pylist(), object), "predicted": judged["predicted"].to_numpy()}
    return {name: values[whole] for name, values in found.items()}


def scatter(rows: Columns, palette: Palette, x: np.ndarray, y: np.ndarray) -> alt.Chart:
    """Points for all instances, or for ``POINTS`` of them, chosen by a hash of the id."""
    marks = [hashlib.blake2b(name.encode(), digest_size=8).digest() for name in rows["id"]]
    group = palette.groups(rows["predicted"])
    chosen = sorted(range(len(marks)), key=marks.__getitem__)[:POINTS]
    shown = [{"x": x[i], "y": y[i], "class": palette.names[group[i]]} for i in chosen]
    return alt.Chart(data_of(shown)).mark_circle(size=17, opacity=0.5)


def histogram_steps(values: np.ndarray, edges: np.ndarray, name: str) -> Rows:
    """The outline of a histogram of shares, one row for each edge."""
    shares = [*(np.histogram(values, edges)[0] / max(len(values), 1)), 0.0]
    return [{"x": x, "share": y, "class": name} for x, y in zip(edges.tolist(), shares, strict=True)]


def curve(base: alt.Chart, y: alt.Y, *, line: bool = True) -> list[alt.Chart]:
    """A dot with its interval for every row of ``base``, joined by a line."""
    return [
        *([base.mark_line(strokeWidth=1.8).encode(y)] if line else []),
        base.mark_rule(strokeWidth=2.2).encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        base.mark_circle(size=62, opacity=1).encode(y),
    ]


def reference_line(axis: str, value: float, label: str) -> alt.LayerChart:
    """A line at a value that the reader should know, its name outside the plot."""
    base = alt.Chart(data_of([{axis: value}])).encode(**{axis: f"{axis}:Q"})
    place = {"x": 0, "align": "left"} if axis == "y" else {"y": 0}
    rule = base.mark_rule(color=MUTED, strokeDash=[4, 3] if label else [1, 0])
    return rule + base.mark_text(color=MUTED, text=label, fontSize=11.5, dy=-9, **place)


def measured_interval(findings: Findings, measure: Measure, predicted: int | None) -> dict[str, Any]:
    """The row of a measure, of all classes or of one."""
    return interval_of_estimate(estimate(findings, measure, predicted=predicted))


def interval_of_estimate(found: Estimate) -> dict[str, Any]:
    """The row of an estimate: its value and interval, and the value as text."""
    numbers = {"value": found.value, "low": found.low, "high": found.high}
    shown = {name: number if math.isfinite(number) else None for name, number in numbers.items()}
    return shown | {"text": f"{found.value:.2f}" if found.judged else "–"}


def interval_chart(rows: Rows, x: alt.X, colour: Any, kinds: list[str], behind: Any, width: int) -> alt.LayerChart:
    """A dot with its interval for every row, a line for each of ``kinds``; the first is written out."""
    whats = list(dict.fromkeys(row["what"] for row in rows))
    y = alt.Y("what:N", title=None, sort=whats, axis=alt.Axis(labelLimit=220, grid=True, ticks=False, domain=False))
    base = alt.Chart(data_of(rows)).encode(y, alt.YOffset("class:N", sort=kinds), color=colour)
    first = alt.Chart(data_of([row for row in rows if row["class"] == kinds[0]])).encode(y)
    layers = [
        behind,
        base.mark_rule(strokeWidth=2.2).encode(x="low:Q", x2="high:Q"),
        base.mark_circle(size=62, opacity=1).encode(x),
        first.mark_text(align="left", x=width + 6, fontWeight=600).encode(text="text:N"),
    ]
    room = THEME["padding"] | {"left": 30}
    chart = alt.layer(*layers, width=width, height=alt.Step(14 if len(kinds) > 1 else 26))
    return styled(chart.properties(padding=room))

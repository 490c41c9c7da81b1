"""The papers' plots (Jain & Wallace 2019) as Altair charts of a run's findings.

Every number drawn (bins, medians, intervals) is computed here from all judged rows. Only points are ever
thinned out, to ``POINTS`` of them, by a hash of the instance's id, whatever the order of the rows.
"""

from __future__ import annotations

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
import vl_convert

from attentest.registry import name_in_words
from attentest.report.saliency import RANDOM, REMOVED, Compared
from attentest.report.tables import pair_in_words, visible
from attentest.store.findings import Findings, Measure
from attentest.store.summary import Estimate, estimate
from attentest.tasks import TEXTS, Wording

__all__ = [
    "POINTS",
    "Palette",
    "agreement_overview",
    "bounded",
    "certified",
    "divergence_by_max_attention",
    "divergence_histogram",
    "faithfulness_overview",
    "permutation_by_max_attention",
    "rationale_ceiling",
    "rationale_precision",
    "searched",
    "searched_against_certified",
    "svg",
    "tau_histograms",
]

POINTS = 1500
PAIRS = ("attention~gradient", "attention~leave_one_out", "gradient~leave_one_out")
LN2 = math.log(2)
#: The class of what is drawn for all classes together; nobody reads it.
ALL = "all"
#: Okabe & Ito's colours, which people with any colour vision can tell apart, without the palest two.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#AA4499", "#56B4E9", "#E69F00")
INK, MUTED, PALE, GRID = "#1F2933", "#5F6B7A", "#C3CCD6", "#E6EAEF"
ACCENT = "#8A63D2"
#: The look of every chart. ARIA is off in it: the page's alt text speaks for the picture. Its padding and that
#: of legends leave room for readers whose fonts are wider than the renderer's.
THEME = json.loads((resources.files("attentest.report") / "templates" / "theme.json").read_text("utf-8"))

#: A dot as the renderer writes it; as a circle it takes half the bytes, and a figure has thousands.
DOT = re.compile(
    r'<path transform="translate\(([-\d.e]+),([-\d.e]+)\)" d="M([\d.]+),0A\3,\3,0,1,1,-\3,0A\3,\3,0,1,1,\3,0"'
)

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


def tau_histograms(
    agreement: Findings, palette: Palette, wording: Wording = TEXTS, *, columns: int = 3
) -> alt.ConcatChart:
    """Kendall τ per predicted class, a panel for each pair, with its mean and the share significant."""
    judged = {pair: _judged(agreement.rows({"pair": pair}), "tau", "significant") for pair in PAIRS}
    panels = [_tau_panel(pair, rows, palette, wording) for pair, rows in judged.items() if len(rows["tau"])]
    return _styled(alt.concat(*panels, columns=columns, spacing=28).resolve_scale(y="shared"))


def _tau_panel(pair: str, rows: Columns, palette: Palette, wording: Wording) -> alt.LayerChart:
    tau, group = rows["tau"], palette.groups(rows["predicted"])
    each = {palette.names[g]: group == g for g in np.unique(group).tolist()}
    drawn = each if len(each) <= 3 else {ALL: group >= 0}
    edges = np.linspace(-1, 1, 41 if len(tau) >= 600 else 21)
    steps = [row for name, chosen in drawn.items() for row in _steps(tau[chosen], edges, name)]
    colour = palette.encoding(ALL, legend=False)
    x = alt.X("x:Q", title="Kendall τ", scale=alt.Scale(domain=[-1, 1]), axis=alt.Axis(tickCount=5, grid=False))
    y = alt.Y("share:Q", stack=None, title=f"share of {wording.units}", axis=alt.Axis(format=".0%", tickCount=4))
    area = alt.Chart(_data(steps)).mark_area(interpolate="step-after", fillOpacity=0.28, line={"strokeWidth": 1.6})
    layers = [alt.Chart(_data([{"x": 0}])).mark_rule(color=PALE).encode(x), area.encode(x, y, colour)]
    for line, (name, chosen) in enumerate(each.items()):
        mean, significant, count = tau[chosen].mean(), rows["significant"][chosen].mean(), int(chosen.sum())
        text = f"■ {visible(name, 15)}, n {count:,}: mean {mean:.2f}, {significant:.0%} sig."
        base = alt.Chart(_data([{"x": mean, "class": name, "text": text}])).encode(color=colour)
        layers.append(base.mark_rule(strokeDash=[4, 3], strokeWidth=1.5).encode(x))
        label = base.mark_text(align="left", baseline="top", fontSize=11.5, x=0, y=15 * (line - len(each)) - 6)
        layers.append(label.encode(text="text:N"))
    title = _titled(pair)
    return alt.layer(*layers, title=alt.Title(title, frame="group"), width=262, height=170)


def permutation_by_max_attention(permutation: Findings, palette: Palette, wording: Wording = TEXTS) -> alt.LayerChart:
    """Median Δŷ under permuted attention by max attention and predicted class: points, box and median."""
    rows = _judged(permutation.table, "median_change", "max_attention")
    change, group = rows["median_change"], palette.groups(rows["predicted"])
    lanes = len(palette.names) if len(palette.names) <= 3 else 1
    half = 0.4 / lanes
    lane = np.minimum((rows["max_attention"] * 4).astype(int), 3) * lanes + (group if lanes > 1 else 0)
    heights = np.array([b + 0.4 - half * (2 * k + 1) for b in range(4) for k in range(lanes)])
    y = heights[lane]
    boxes: Rows = [{"y": 3.5, "n": wording.units}]
    for i, height in enumerate(heights.tolist()):
        values = change[lane == i]
        boxes.append({"y": height, "n": f"{len(values):,}"})
        if len(values):
            low, q1, median, q3, high = np.quantile(values, [0.05, 0.25, 0.5, 0.75, 0.95])
            boxes[-1] |= {"low": low, "q1": q1, "median": median, "q3": q3, "high": high}
            y[lane == i] += _spread(values) * half * 0.85
    labels = '["0 to .25", ".25 to .5", ".5 to .75", ".75 to 1"][datum.value]'
    axis = alt.Axis(values=[0, 1, 2, 3], labelExpr=labels, grid=False, ticks=False, domain=False)
    up = alt.Y("y:Q", title="largest attention weight", scale=alt.Scale(domain=[-0.5, 3.5]), axis=axis)
    widest = max(0.5, math.ceil(change.max(initial=0) * 10) / 10)
    x = alt.X("x:Q", title="median change of the prediction (TVD)", scale=_up_to(widest), axis=alt.Axis(tickCount=6))
    box = alt.Chart(_data(boxes)).encode(up)
    layers = [
        alt.Chart(_data([{"y": v} for v in (0.5, 1.5, 2.5)])).mark_rule(color=GRID).encode(up),
        _points(rows, palette, change, y).encode(x, up, palette.encoding()),
        box.mark_rule(color=INK).encode(x="low:Q", x2="high:Q"),
        box.mark_bar(height=9, fill="white", fillOpacity=0.85, stroke=INK).encode(x="q1:Q", x2="q3:Q"),
        box.mark_tick(color=INK, opacity=1, thickness=3.5, height=17).encode(x="median:Q"),
        box.mark_text(align="left", x=368, color=MUTED, fontSize=11).encode(text="n:N"),
    ]
    return _styled(alt.layer(*layers, width=360, height=300))


def bounded(adversary: Findings) -> bool:
    """Whether bounds were proved, as for a head that is affine; otherwise all there is was found by searching."""
    return _holds(adversary, "upper")


def certified(adversary: Findings) -> bool:
    """Whether the bounds meet on every text, so that what was reached is the most there is."""
    return bounded(adversary) and bool(_judged(adversary.table, "certified")["certified"].all())


def searched(adversary: Findings) -> bool:
    """Whether the published search was run, and found anything."""
    return _holds(adversary, "searched_divergence")


def _holds(findings: Findings, column: str) -> bool:
    return column in findings.table.column_names and len(_judged(findings.table, column)[column]) > 0


def divergence_histogram(adversary: Findings, wording: Wording = TEXTS) -> alt.LayerChart:
    """ε-max JSD, filled; where it is certified, what the published search reaches stands beside it, as a line."""
    lower, found = (_judged(adversary.table, name)[name] for name in ("lower", "searched_divergence"))
    names = ["found by searching"]
    if bounded(adversary):
        names = ["certified" if certified(adversary) else "reached", *["found by the search"] * searched(adversary)]
    edges, reached = np.linspace(0, LN2, 23), "largest" if certified(adversary) else "largest found"
    x = alt.X("x:Q", title=f"{reached} divergence that keeps the prediction (JSD)", scale=_up_to(0.72))
    y = alt.Y("share:Q", stack=None, title=f"share of {wording.units}", axis=alt.Axis(format=".0%", tickCount=5))
    scale = alt.Scale(domain=names, range=["#9DB2C9", INK][: len(names)])
    counts = json.dumps({name: f", n {len(each):,}" for each, name in zip((lower, found), names, strict=False)})
    legend = alt.Legend(symbolType="square", labelExpr=f"datum.label + {counts}[datum.label]")
    colour = alt.Color("class:N", scale=scale, legend=legend)
    steps = [alt.Chart(_data(_steps(each, edges, name))) for each, name in zip((lower, found), names, strict=False)]
    layers = [steps[0].mark_area(interpolate="step-after").encode(x, y, colour)]
    layers += [one.mark_line(interpolate="step-after", strokeWidth=1.8).encode(x, y, colour) for one in steps[1:]]
    return _styled(alt.layer(*layers, _reference("x", LN2, "ln 2"), width=380, height=250))


def divergence_by_max_attention(adversary: Findings, palette: Palette) -> alt.LayerChart:
    """ε-max JSD against max attention, under ln 2 and the maximum if the prediction were free."""
    rows = _judged(adversary.table, "lower", "max_attention", "unconstrained")
    top, lower, free = rows["max_attention"], rows["lower"], rows["unconstrained"]
    bins = np.minimum((top * 20).astype(int), 19)
    medians = [{"x": (b + 0.5) / 20, "y": np.median(free[bins == b])} for b in np.unique(bins).tolist()]
    x = alt.X("x:Q", title="largest attention weight", scale=_up_to(1), axis=alt.Axis(tickCount=5))
    y = alt.Y("y:Q", title=f"{_reached(adversary)} (JSD)", scale=_up_to(0.72))
    line = alt.Chart(_data(medians)).mark_line(color=INK, strokeWidth=1.6).encode(x, y)
    cap = _reference("y", LN2, "dashed: ln 2, solid: median if the prediction were free")
    points = _points(rows, palette, top, lower).encode(x, y, palette.encoding())
    return _styled(alt.layer(points, line, cap, width=380, height=250))


def _reached(adversary: Findings) -> str:
    """What the largest divergence known is."""
    if not bounded(adversary):
        return "divergence found by searching"
    return "certified divergence" if certified(adversary) else "largest divergence reached"


def searched_against_certified(adversary: Findings, palette: Palette) -> alt.LayerChart:
    """What the published search reaches against the largest divergence known: points below the line fall short."""
    rows = _judged(adversary.table, "lower", "searched_divergence")
    x = alt.X("x:Q", title=f"{_reached(adversary)} (JSD)", scale=_up_to(0.72))
    y = alt.Y("y:Q", title="found by the search (JSD)", scale=_up_to(0.72))
    points = _points(rows, palette, rows["lower"], rows["searched_divergence"])
    diagonal = alt.Chart(_data([{"x": v, "y": v} for v in (0, LN2)])).mark_line(color=MUTED, strokeWidth=1)
    layers = [diagonal.encode(x, y), points.encode(x, y, palette.encoding())]
    return _styled(alt.layer(*layers, width=300, height=300))


def agreement_overview(agreement: Findings, wording: Wording = TEXTS, *, width: int = 175) -> alt.LayerChart:
    """For every pair of scores, the effect captured by the top words and mean τ, with 95 % intervals."""
    kinds = {"captured": "effect captured by top words", "tau": "Kendall τ"}
    kinds = {column: words for column, words in kinds.items() if column in agreement.table.column_names}
    rows: Rows = []
    pairs = pc.unique(agreement.table["pair"]).to_pylist()
    for pair in sorted(pairs, key=lambda pair: not pair.startswith("attention~")):
        for column, words in kinds.items():
            measure = Measure("", column, "mean", "", {"pair": pair})
            rows.append(_interval(agreement, measure, None) | {"what": _titled(pair), "class": words})
    names = list(kinds.values())
    scale = alt.Scale(domain=names, range=[INK, ACCENT][-len(names) :])
    colour = alt.Color("class:N", scale=scale, legend=alt.Legend(columns=1, symbolType="circle"))
    x = alt.X("value:Q", title=[f"mean over {wording.units},", "with 95 % interval"], axis=alt.Axis(tickCount=3))
    return _intervals(rows, x, colour, names, _reference("x", 0, ""), width)


def _titled(pair: str) -> str:
    """The pair in words; the paper's control is called so."""
    return pair_in_words(pair) + (" (control)" if pair == "gradient~leave_one_out" else "")


def rationale_precision(rationale: Findings, *, width: int = 250) -> alt.LayerChart:
    """Average precision of every explainer against the rationale tokens, with its interval and chance."""
    chance = _judged(rationale.table, "chance")["chance"].mean()
    title = ["mean average precision,", "with 95 % interval"]
    x = alt.X("value:Q", title=title, scale=_up_to(1), axis=alt.Axis(tickCount=5))
    rows = _each_explainer(rationale, "average_precision")
    return _intervals(rows, x, alt.value(INK), [ALL], _reference("x", chance, "chance"), width)


def rationale_ceiling(rationale: Findings, *, width: int = 250) -> alt.LayerChart:
    """Token F1 of every explainer with one person's marks, beside that of another person: the human ceiling."""
    first = {"explainer": rationale.table["explainer"][0].as_py()}
    person = estimate(rationale, Measure("", "ceiling_single_token_f1", "mean", "", first))
    title = ["mean F1 with one person's marks,", "with 95 % interval"]
    x = alt.X("value:Q", title=title, scale=_up_to(1), axis=alt.Axis(tickCount=5))
    rows = _each_explainer(rationale, "single_token_f1")
    return _intervals(rows, x, alt.value(INK), [ALL], _reference("x", person.value, "another person"), width)


def _each_explainer(rationale: Findings, column: str) -> Rows:
    """The column's mean and interval for every explainer, from the highest to the lowest."""
    names = pc.unique(rationale.table["explainer"]).to_pylist()
    rows = [
        _interval(rationale, Measure("", column, "mean", "", {"explainer": name}), None)
        | {"what": name_in_words(name, names), "class": ALL}
        for name in names
    ]
    return sorted(rows, key=lambda row: -(row["value"] or 0))


def faithfulness_overview(faithfulness: Findings, *, width: int = 250) -> alt.LayerChart:
    """What erasing every explainer's top words does, between the least and the most found, beside a random order."""
    compared = Compared.of(faithfulness)
    assert compared is not None
    ranked = [row for row in compared.rows() if row.words != RANDOM]
    rows: Rows = [_drawn(row.removed) | {"what": row.words, "class": ALL} for row in ranked]
    chance = float(np.nanmean(compared.table(REMOVED)[RANDOM]))
    labels = (RANDOM, "most found") if width > 200 else ("random", "most")
    lines = alt.layer(_reference("x", chance, labels[0]), _reference("x", 1, labels[1]))
    title = ["from the least (0) to the most (1) found,", "with 95 % interval"]
    x = alt.X("value:Q", title=title, scale=_up_to(1), axis=alt.Axis(tickCount=5))
    return _intervals(rows, x, alt.value(INK), [ALL], lines, width)


def svg(chart: alt.TopLevelMixin) -> str:
    """The chart as SVG text, rendered without the network."""
    text = str(vl_convert.vegalite_to_svg(chart.to_dict(validate=False), allowed_base_urls=[]))
    return DOT.sub(lambda m: f'<circle cx="{float(m[1]):.1f}" cy="{float(m[2]):.1f}" r="{m[3]}"', text)


def _styled(chart: Any) -> Any:
    return chart.properties(config=THEME)


def _data(rows: Rows) -> alt.Data:
    return alt.Data(values=rows)


def _up_to(top: float) -> alt.Scale:
    return alt.Scale(domain=[0, top], nice=False)


def _judged(table: pa.Table, *columns: str) -> Columns:
    """The columns over the judged rows, with id and predicted class, free of gaps."""
    judged = table.filter(pc.is_null(table["not_judged"])) if "not_judged" in table.column_names else table
    found = {name: judged[name].cast(pa.float64()).to_numpy() for name in columns}
    whole = np.all([np.isfinite(values) for values in found.values()], axis=0)
    found |= {"id": np.array(judged["id"].to_pylist(), object), "predicted": judged["predicted"].to_numpy()}
    return {name: values[whole] for name, values in found.items()}


def _points(rows: Columns, palette: Palette, x: np.ndarray, y: np.ndarray) -> alt.Chart:
    """Points for all instances, or for ``POINTS`` of them, chosen by a hash of the id."""
    marks = [hashlib.blake2b(name.encode(), digest_size=8).digest() for name in rows["id"]]
    group = palette.groups(rows["predicted"])
    chosen = sorted(range(len(marks)), key=marks.__getitem__)[:POINTS]
    shown = [{"x": x[i], "y": y[i], "class": palette.names[group[i]]} for i in chosen]
    return alt.Chart(_data(shown)).mark_circle(size=17, opacity=0.5)


def _spread(values: np.ndarray) -> np.ndarray:
    """Offsets in [−1, 1] that spread points evenly and no wider than their density, as in a violin."""
    counts, edges = np.histogram(values, bins=24, range=(0, 1))
    smooth = np.convolve(counts, [0.25, 0.5, 0.25], mode="same")
    density = np.interp(values, (edges[1:] + edges[:-1]) / 2, smooth / smooth.max())
    rank = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return np.asarray(density * (2 * ((rank * 0.6180339887) % 1) - 1))


def _steps(values: np.ndarray, edges: np.ndarray, name: str) -> Rows:
    """The outline of a histogram of shares, one row for each edge."""
    shares = [*(np.histogram(values, edges)[0] / max(len(values), 1)), 0.0]
    return [{"x": x, "share": y, "class": name} for x, y in zip(edges.tolist(), shares, strict=True)]


def _reference(axis: str, value: float, label: str) -> alt.LayerChart:
    """A line at a value that the reader should know, its name outside the plot."""
    base = alt.Chart(_data([{axis: value}])).encode(**{axis: f"{axis}:Q"})
    place = {"x": 0, "align": "left"} if axis == "y" else {"y": 0}
    rule = base.mark_rule(color=MUTED, strokeDash=[4, 3] if label else [1, 0])
    return rule + base.mark_text(color=MUTED, text=label, fontSize=11.5, dy=-9, **place)


def _interval(findings: Findings, measure: Measure, predicted: int | None) -> dict[str, Any]:
    return _drawn(estimate(findings, measure, predicted=predicted))


def _drawn(found: Estimate) -> dict[str, Any]:
    numbers = {"value": found.value, "low": found.low, "high": found.high}
    shown = {name: number if math.isfinite(number) else None for name, number in numbers.items()}
    return shown | {"text": f"{found.value:.2f}" if found.judged else "–"}


def _intervals(rows: Rows, x: alt.X, colour: Any, kinds: list[str], behind: Any, width: int) -> alt.LayerChart:
    """A dot with its interval for every row, a line for each of ``kinds``; the first is written out."""
    whats = list(dict.fromkeys(row["what"] for row in rows))
    y = alt.Y("what:N", title=None, sort=whats, axis=alt.Axis(labelLimit=220, grid=True, ticks=False, domain=False))
    base = alt.Chart(_data(rows)).encode(y, alt.YOffset("class:N", sort=kinds), color=colour)
    first = alt.Chart(_data([row for row in rows if row["class"] == kinds[0]])).encode(y)
    layers = [
        behind,
        base.mark_rule(strokeWidth=2.2).encode(x="low:Q", x2="high:Q"),
        base.mark_circle(size=62, opacity=1).encode(x),
        first.mark_text(align="left", x=width + 6, fontWeight=600).encode(text="text:N"),
    ]
    room = THEME["padding"] | {"left": 30}
    chart = alt.layer(*layers, width=width, height=alt.Step(14 if len(kinds) > 1 else 26))
    return _styled(chart.properties(padding=room))

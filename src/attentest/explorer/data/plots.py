"""Plots of a run: every point is a text. Many texts come as counts in bins, and some of them as points."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attentest.errors import UnknownName
from attentest.explorer.data.files import RunFiles
from attentest.explorer.plain import as_json
from attentest.presentation.text import pair_in_words
from attentest.tasks import wording_of

__all__ = ["MOST_POINTS", "Plotted", "plot_data", "plot_json", "plot_of", "plots_of"]

Row = dict[str, Any]
#: Beyond so many points a plot is binned, and so many of them are drawn all the same.
MOST_POINTS, BINS = 2_000, 40


@dataclass(frozen=True)
class Axis:
    """A number of every text: where it stands, and what it is called."""

    challenge: str
    column: str
    title: str
    where: Mapping[str, str] = field(default_factory=dict)
    #: The ends of the scale, where the number has such.
    low: float | None = None
    high: float | None = None

    def is_in(self, run: RunFiles) -> bool:
        """Whether a run's findings hold it."""
        return run.has(self.challenge, self.column, *self.where)


@dataclass(frozen=True)
class Plotted:
    """A plot by its name."""

    name: str
    title: str
    x: Axis
    y: Axis

    @property
    def challenge(self) -> str:
        """The challenge that it shows."""
        return self.y.challenge

    def values(self, run: RunFiles) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Both numbers of every text, and the predicted class."""
        x, y = (run.numbers(axis.challenge, axis.column, axis.where) for axis in (self.x, self.y))
        return x, y, run.numbers("instances", "predicted")


LN2 = float(np.log(2))


def _offered(run: RunFiles) -> Iterator[Plotted]:
    """Every plot that a run may have."""
    wording = wording_of(run.fields)
    top = Axis("instances", "max_attention", "largest attention weight", low=0, high=1)
    confidence = Axis("instances", "confidence", "confidence of the prediction", low=0, high=1)
    reached = Axis("adversary", "lower", "largest divergence within ε (JSD)", low=0, high=LN2)
    yield Plotted("attention", "How sure is the model, and how peaked is its attention?", top, confidence)
    yield Plotted(
        "importance",
        f"How much of what mattered do attention's top {wording.items} hold?",
        Axis("importance", "held", "held, deleted", {"explainer": "attention", "erasure": "delete"}),
        Axis("importance", "held", "held, unknown", {"explainer": "attention", "erasure": "mask"}),
    )
    yield Plotted("adversary", "How different could attention be, with the same prediction?", top, reached)
    yield Plotted(
        "search",
        "Does the published search find what there is?",
        reached,
        Axis("adversary", "searched_divergence", "found by the search (JSD)", low=0, high=LN2),
    )
    change = Axis("permutation", "median_change", "median change of the prediction (TVD)", low=0, high=1)
    yield Plotted("permutation", "Does the prediction change when the weights are shuffled?", top, change)
    moved = Axis("uniform", "change", "change of the prediction (TVD)", low=0, high=1)
    yield Plotted("uniform", "Does the prediction change under uniform weights?", top, moved)
    yield from _agreement(run)
    least, most = (
        Axis("flip_sets", "flip_fraction", title, {"order": order}, low=0, high=1)
        for order, title in (("smallest", "share removed, smallest set"), ("attention", "share removed, by attention"))
    )
    yield Plotted("flip_sets", "How many weights must go before the decision flips?", least, most)
    yield Plotted(
        "single_weight",
        "Does the largest weight matter more than another?",
        Axis("single_weight", "weight_difference", "difference of the weights", low=0, high=1),
        Axis("single_weight", "delta_js", "difference of the effects (JSD)"),
    )


def _agreement(run: RunFiles) -> Iterator[Plotted]:
    """Attention against two other explainers."""
    if not run.has("agreement", "pair", "tau"):
        return
    pairs = [m.where["pair"] for m in run.about("agreement").measures if m.column == "tau" and "pair" in m.where]
    mine = [pair for pair in dict.fromkeys(pairs) if pair.startswith("attention~")]
    axes = [Axis("agreement", "tau", f"τ, {pair_in_words(p)}", {"pair": p}, low=-1, high=1) for p in mine[:2]]
    if len(axes) == 2:
        yield Plotted("agreement", "Does attention rank as other explainers do?", *axes)


def plots_of(run: RunFiles) -> list[Plotted]:
    """The plots whose numbers a run has."""
    if "instances" not in run.challenges:
        return []
    return [plot for plot in _offered(run) if plot.x.is_in(run) and plot.y.is_in(run)]


def plot_of(run: RunFiles, name: str) -> Plotted:
    """A plot by its name."""
    offered = {plot.name: plot for plot in plots_of(run)}
    if name not in offered:
        raise UnknownName(f"plot of {run.id}", name[:40], offered or ["(none)"])
    return offered[name]


def described(plot: Plotted) -> Row:
    """What a plot shows."""
    axes = {
        axis: {"title": of.title, "challenge": of.challenge, "column": of.column, "low": of.low, "high": of.high}
        for axis, of in (("x", plot.x), ("y", plot.y))
    }
    return {"name": plot.name, "title": plot.title, "challenge": plot.challenge, **axes}


def plot_data(run: RunFiles, name: str) -> Row:
    """The points of a plot: all, or some, chosen by a hash of their ids, beside the counts of all in bins."""
    plot = plot_of(run, name)
    return described(plot) | {"classes": run.classes} | _drawn(run, plot)


def plot_json(run: RunFiles, name: str) -> bytes:
    """The same as JSON, made once: many readers look at one plot."""
    return run.kept(("plot", name), lambda: as_json(plot_data(run, name)))


def _drawn(run: RunFiles, plot: Plotted) -> Row:
    x, y, predicted = plot.values(run)
    there = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    chosen, total = there, len(there)
    if total > MOST_POINTS:
        ids = run.ids().take(there).to_pylist()
        marks = [hashlib.blake2b(name.encode(), digest_size=8).digest() for name in ids]
        chosen = np.sort(there[sorted(range(total), key=marks.__getitem__)[:MOST_POINTS]])
    points = [
        {"row": row, "x": x[row], "y": y[row], "class": None if np.isnan(predicted[row]) else int(predicted[row])}
        for row in chosen.tolist()
    ]
    binned = _bins(plot, x[there], y[there]) if total > MOST_POINTS else None
    return {"points": points, "bins": binned, "total": total, "not_judged": run.texts - total}


def _bins(plot: Plotted, x: np.ndarray, y: np.ndarray) -> Row:
    """How many texts lie where: the edges of both axes, and the cells that are not empty."""
    edges = [_edges(axis, values) for axis, values in ((plot.x, x), (plot.y, y))]
    counts, _, _ = np.histogram2d(x, y, bins=edges)
    cells = np.argwhere(counts > 0)
    return {
        "x": edges[0],
        "y": edges[1],
        "cells": [[int(i), int(j), int(counts[i, j])] for i, j in cells],
    }


def _edges(axis: Axis, values: np.ndarray) -> np.ndarray:
    low = float(values.min()) if axis.low is None else min(axis.low, float(values.min()))
    high = float(values.max()) if axis.high is None else max(axis.high, float(values.max()))
    return np.linspace(low, high if high > low else low + 1, BINS + 1)

"""Studies: their cells, and a plot of every cell, corpus by corpus, as small multiples with their scores."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from attentest.errors import AttentestError, UnknownName
from attentest.explorer.data.files import Kept, RunFiles
from attentest.explorer.data.library import Library
from attentest.explorer.data.plots import Plotted, described, plots_of
from attentest.explorer.plain import as_json

__all__ = ["ALL", "Studies"]

Row = dict[str, Any]
#: What all runs of a folder are called together, where a study is asked for.
ALL = "all"
#: Points of a small multiple.
POINTS = 120


class Studies:
    """The studies of a folder of runs, those of one name together."""

    def __init__(self, library: Library) -> None:
        self._library, self._drawn = library, Kept(2_000)

    def study(self, name: str) -> Row:
        """A study with its cells and the plots that some of them have."""
        about, cells = self._cells(name)
        offered: dict[str, Row] = {}
        for cell in cells:
            if cell["run"] is not None:
                for plot in self._plots(cell["run"]).values():
                    offered.setdefault(plot.name, described(plot))
        return about | {"cells": cells, "plots": list(offered.values())}

    def grid(self, name: str, plot: str) -> Row:
        """One plot of every cell that has it: some of its points, and the mean of what it shows."""
        about, cells = self._cells(name)
        drawn, title = [], None
        for cell in cells:
            found = None if cell["run"] is None else self._plots(cell["run"]).get(plot)
            if found is not None:
                title = title or described(found)
                drawn.append(cell | self._multiple(cell["run"], found))
        if title is None:
            known = {plot["name"] for plot in self.study(name)["plots"]}
            raise UnknownName(f"plot of {name}", plot[:40], known or ["(none)"])
        return about | {"plot": title, "cells": drawn}

    def grid_json(self, name: str, plot: str) -> bytes:
        """The same as JSON."""
        return as_json(self.grid(name, plot))

    def _cells(self, name: str) -> tuple[Row, list[Row]]:
        """What a study is, and its cells with what their runs are; a run that is in several stands once."""
        library, found = self._library, [study for study in self._library.studies() if study["study"] == name]
        if found:
            about = {key: found[0][key] for key in ("study", "title", "paper")}
            cells = [cell for study in found for cell in study["cells"]]
        elif name == ALL:
            about = {"study": ALL, "title": "All runs", "paper": ""}
            cells = [{"label": run, "choices": {}, "run": run, "problem": None} for run in library.names()]
        else:
            raise UnknownName("study here", name[:80], [*(study["study"] for study in library.studies()), ALL])
        kept: dict[str, Row] = {}
        for cell in cells:
            summary = {} if cell["run"] is None else library.summary(cell["run"])
            if not summary.get("companion"):
                kept.setdefault(cell["run"] or cell["label"], cell | _told(cell["choices"], summary))
        return about, list(kept.values())

    def _plots(self, run: str) -> Mapping[str, Plotted]:
        try:
            files = self._library.run(run)
            return files.kept("plots", lambda: {plot.name: plot for plot in plots_of(files)})
        except AttentestError:
            return {}

    def _multiple(self, run: str, plot: Plotted) -> Row:
        files = self._library.run(run)
        return self._drawn.get((run, files.stamp, plot.name), lambda: _small(files, plot))


def _told(choices: Mapping[str, Any], summary: Mapping[str, Any]) -> Row:
    """What tells a cell from others: as its run says, or as the study does."""
    names = {"corpus": "corpus", "encoder": "model", "attention": "attention", "seed": "seed"}
    return {
        name: summary.get(key) if summary.get(key) is not None else choices.get(name) for name, key in names.items()
    }


def _small(run: RunFiles, plot: Plotted) -> Row:
    """Some points of a plot, chosen by a hash of their rows, and the mean of its height."""
    try:
        x, y, predicted = plot.values(run)
    except AttentestError as error:
        return {"points": [], "total": 0, "score": None, "problem": str(error)}
    there = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    marks = [hashlib.blake2b(str(row).encode(), digest_size=8).digest() for row in there[: 20 * POINTS].tolist()]
    chosen = sorted(there[sorted(range(len(marks)), key=marks.__getitem__)[:POINTS]].tolist())
    points = [
        {"row": row, "x": x[row], "y": y[row], "class": None if np.isnan(predicted[row]) else int(predicted[row])}
        for row in chosen
    ]
    score = {"words": plot.y.title, "value": float(y[there].mean())} if len(there) else None
    return {"points": points, "total": len(there), "score": score, "problem": None}

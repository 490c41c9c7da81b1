"""Families of tasks side by side: what weights are worth in single texts, pairs and translations, from finished runs.

Every corpus of a family counts the same, whatever its number of texts, and so does every seed of a corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.errors import InputError
from attentest.papers.claims import load_claims
from attentest.papers.evidence import Cell, Evidence, grouped
from attentest.papers.matching import of_model
from attentest.tasks import TASKS

__all__ = ["FAMILIES", "PERCENTILE", "Families", "Panel", "families", "stands_on"]

#: The paper, and the model of it that is drawn.
PAPER, MODEL = "vashishth_2019", "bahdanau_2015"
#: The families of tasks, and the wording of each.
FAMILIES: Final = {task.family: task.wording for task in TASKS.values()}
#: Translations are shown at the length below which so many per cent of the sentences lie, as in the paper; 0: all.
PERCENTILE = 25.0


@dataclass(frozen=True)
class Panel:
    """The points of one family: what stands on the two axes, and how much each point counts."""

    family: str
    x: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    corpora: tuple[str, ...]
    seeds: int

    @property
    def basis(self) -> str:
        """What it stands on, in words."""
        seeds = f"{self.seeds} seed{'s' if self.seeds > 1 else ''}"
        return f"{self.family}: {FAMILIES[self.family].counted(len(self.x))} of {', '.join(self.corpora)}, {seeds}"


@dataclass(frozen=True)
class Families:
    """The points of the figures."""

    #: The largest weight, and the median change of the prediction under permutation.
    changes: tuple[Panel, ...]
    #: The top weight less another one, and ΔJS.
    effects: tuple[Panel, ...]


def stands_on(panels: Sequence[Panel]) -> str:
    """What a figure stands on, family by family, those included that no finished run has findings for."""
    drawn = {panel.family: panel.basis for panel in panels}
    return "; ".join(drawn.get(family, f"{family}: no finished run has these findings yet") for family in FAMILIES)


def families(cells: Sequence[Cell], percentile: float = PERCENTILE) -> Families:
    """What the paper's model says in every family that has runs here."""
    if not 0 <= percentile <= 100:
        raise InputError(f"percentile={percentile} must lie between 0 (sentences of every length) and 100.")
    rules = load_claims(PAPER).rules
    groups = [group for group in grouped(cells) if of_model(group, rules, MODEL)]
    chosen = [cell for group in groups for cell in group.cells]
    evidence = Evidence()
    return Families(
        _panels(chosen, evidence, "permutation", ("max_attention", "median_change"), percentile),
        _panels(chosen, evidence, "single_weight", ("weight_difference", "delta_js"), percentile),
    )


def _panels(
    cells: Sequence[Cell], evidence: Evidence, challenge: str, columns: tuple[str, str], percentile: float
) -> tuple[Panel, ...]:
    """A panel for every family that has runs with these findings."""
    found: dict[str, dict[str, list[tuple[np.ndarray, np.ndarray]]]] = {}
    for cell in cells:
        about = cell.folder.record["fields"]["corpus"]
        if about["task"] not in TASKS or not evidence.has(cell.folder, challenge):
            continue
        table = evidence.table(cell.folder, challenge, ("id", "sentence", "tokens", "not_judged", *columns))
        if "sentence" in table.column_names and percentile:
            table = _at_length(table, percentile)
        whole = reduce(and_, (pc.is_finite(table[column]).fill_null(False).to_numpy() for column in columns))
        pair = tuple(table[column].to_numpy()[whole] for column in columns)
        if len(pair[0]):
            found.setdefault(TASKS[about["task"]].family, {}).setdefault(about["name"], []).append((pair[0], pair[1]))
    return tuple(_panel(family, found[family]) for family in FAMILIES if family in found)


def _panel(family: str, corpora: dict[str, list[tuple[np.ndarray, np.ndarray]]]) -> Panel:
    parts = [(pair, len(corpora[name])) for name in sorted(corpora) for pair in corpora[name]]
    x, y = (np.concatenate([pair[axis] for pair, _ in parts]) for axis in (0, 1))
    weight = np.concatenate([np.full(len(pair[0]), 1 / (len(pair[0]) * runs)) for pair, runs in parts])
    return Panel(family, x, y, weight / weight.sum(), tuple(sorted(corpora)), max(map(len, corpora.values())))


def _at_length(table: pa.Table, percentile: float) -> pa.Table:
    """The steps of the sentences whose length is this percentile of the sentences' lengths."""
    first = dict(zip(table["sentence"].to_pylist(), table["tokens"].to_pylist(), strict=True))
    length = float(np.percentile(list(first.values()), percentile, method="nearest")) if first else 0.0
    return table.filter(pc.equal(table["tokens"], int(length)))

"""Short tables of a calibration: how many models of each family, and how often the verdict is wrong about them."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.table import Table as Shown

from attentest.calibration.analysis.calibrated import errors_by
from attentest.calibration.analysis.fitting import CLEAR
from attentest.calibration.analysis.table import Table

__all__ = ["errors_table", "members_table"]

#: Marks are not fitted on fewer mechanisms than this.
FEWEST = 5
#: What is shown of every use, by its name among the errors.
SHOWN = {"yes": "wrong yes", "no": "wrong no", "abstain": "abstains"}


def members_table(table: Table) -> Shown:
    """A row for every family: models, mechanisms, cells, and truths about words."""
    shown = Shown(title="Models by the truth about their words", title_justify="left", box=SIMPLE)
    for name in ("family", "models", "mechanisms", "cells", "misleading", "between", "faithful"):
        shown.add_column(name, justify="left" if name == "family" else "right")
    families = table.names("family")
    for family in sorted(set(families.tolist())):
        shown.add_row(family, *_counts(table.where(families == family)))
    if len(set(families.tolist())) > 1:
        shown.add_row("all", *_counts(table))
    return shown


def _counts(table: Table) -> list[str]:
    truth = table.truth("words")
    truth = truth[~np.isnan(truth)]
    low, high = int((truth <= CLEAR[0]).sum()), int((truth >= CLEAR[1]).sum())
    cells = set(zip(table.names("mechanism"), table.names("world"), strict=True))
    counts = (len(table), len({mechanism for mechanism, _ in cells}), len(cells))
    return [str(count) for count in (*counts, low, len(truth) - low - high, high)]


def errors_table(table: Table) -> Shown | None:
    """How often each answer is wrong about clear models, by marks that were fitted on the other mechanisms."""
    if len(set(table.names("mechanism").tolist())) < FEWEST:
        return None
    shown = Shown(title="The verdict, each mechanism judged by marks of the others", title_justify="left", box=SIMPLE)
    shown.add_column("use")
    for name in SHOWN.values():
        shown.add_column(name, justify="right")
    for use, errors in errors_by(table).items():
        counted = errors.lists()
        shown.add_row(use, *(_share(counted[name]) for name in SHOWN))
    return shown


def _share(error: list[Any]) -> str:
    hits, size, low, high = error
    if not size or low is None or high is None:
        return "none"
    return f"{100 * hits / size:.0f} % [{100 * low:.0f}, {100 * high:.0f}] of {size}"

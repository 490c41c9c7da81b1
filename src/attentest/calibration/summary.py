"""A short table of a calibration: how many models of each family, and how true their attention is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.table import Table

__all__ = ["records_in", "summary_table"]

CLEAR = (0.2, 0.8)


def records_in(folder: Path) -> list[dict[str, Any]]:
    """Every record of a study."""
    return [json.loads(path.read_text("utf-8")) for path in sorted((folder / "members").glob("*.json"))]


def summary_table(folder: Path) -> Table:
    """A row for every family: models, mechanisms, cells, accuracy, and truths about words."""
    records = records_in(folder)
    table = Table(
        title="Models by the truth about their words: misleading (up to .2), faithful (from .8)", title_justify="left"
    )
    for name in ("family", "models", "mechanisms", "cells", "right", "misleading", "between", "faithful"):
        table.add_column(name, justify="left" if name == "family" else "right")
    families = sorted({record["family"] for record in records})
    for family in families:
        table.add_row(family, *_row([record for record in records if record["family"] == family]))
    if len(families) > 1:
        table.add_row("all", *_row(records))
    return table


def _row(records: Sequence[dict[str, Any]]) -> list[str]:
    truths = [value for record in records if (value := record["truth"]["words"][0]) is not None]
    low, high = (sum(truth <= CLEAR[0] for truth in truths), sum(truth >= CLEAR[1] for truth in truths))
    cells = {(record["mechanism"], record["world"]) for record in records}
    counts = (len(records), len({mechanism for mechanism, _ in cells}), len(cells))
    accuracy = fmean(record["accuracy"] for record in records)
    return [*map(str, counts), f"{accuracy:.2f}", str(low), str(len(truths) - low - high), str(high)]

"""The files behind docs/explanation/sources.md, and figures as the page prints them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attentest.statistics.intervals import Interval
from attentest.store.atomic import write_text


def read(folder: Path, name: str) -> list[dict[str, str]]:
    """The rows of one file."""
    with (folder / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, fields: Sequence[str], rows: list[dict[str, Any]]) -> None:
    """One file."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, out.getvalue())


def printed(found: Interval, *, percent: bool = False, digits: int = 2) -> str:
    """A figure with its interval."""
    if np.isnan(found.value):
        return "—"
    value, low, high = (f"{100 * x:.0f}" if percent else f"{x:.{digits}f}" for x in found)
    return f"{value} [{low}, {high}]".replace("-", "−")


def heading(first: str, *others: str) -> Iterator[str]:
    """The first two lines of a table."""
    yield "| " + " | ".join((first, *others)) + " |"
    yield "| --- |" + " --: |" * len(others)

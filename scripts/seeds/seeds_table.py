"""Tables of seeds beside a page: what has runs at hand is made anew, the rest stays as it is."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from attentest.statistics.seeds import half_width
from attentest.store.atomic import write_text

__all__ = [
    "AGREES",
    "NOT",
    "UNSETTLED",
    "Row",
    "all_of",
    "below",
    "completed",
    "estimated",
    "figures",
    "once",
    "told",
]

Row = dict[str, str]

#: What a rule that was written before the runs says of them.
AGREES, NOT, UNSETTLED = "agrees", "not", "unsettled"


def completed(
    table: Path,
    fields: Sequence[str],
    made: Iterable[Row],
    order: Callable[[Row], Any],
    of: Sequence[str] = ("corpus",),
) -> list[Row]:
    """The table with these rows in the place of all those that were of the same; without any it is only read."""
    rows = list(made)
    new = {tuple(row[name] for name in of) for row in rows}
    before = csv.DictReader(table.read_text("utf-8").splitlines()) if table.is_file() else ()
    if not rows:
        return list(before)
    rows = sorted([*(row for row in before if tuple(row[name] for name in of) not in new), *rows], key=order)
    out = io.StringIO()
    writer = csv.DictWriter(out, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(table, out.getvalue())
    return rows


def once(rows: Iterable[Row], key: Sequence[str]) -> list[Row]:
    """Of several runs of one seed the first: that which was touched last."""
    found: dict[tuple[str, ...], Row] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in key), row)
    return list(found.values())


def figures(rows: Iterable[Row], name: str, **of: str) -> list[float]:
    """One figure of every seed of a cell."""
    return [float(row[name]) for row in rows if row.items() >= of.items()]


def estimated(*parts: tuple[float, Sequence[float]]) -> tuple[float, float]:
    """A sum of means over seeds, each with its factor, and half its 95 % interval; not numbers without a seed."""
    if not all(len(found) for _, found in parts):
        return math.nan, math.nan
    return float(sum(factor * np.mean(found) for factor, found in parts)), half_width(parts)


def told(value: float, half: float, digits: int = 1) -> str:
    """A figure as a page shows it; without its interval where too few seeds have one."""
    if math.isnan(value):
        return "no run"
    shown = f"{value:.{digits}f}".replace("-", "−")
    return shown if math.isnan(half) else f"{shown} ± {half:.{digits}f}"


def below(value: float, half: float, mark: float) -> str:
    """Whether a figure lies below a mark, with its whole interval."""
    if value + half < mark:
        return AGREES
    return NOT if value - half >= mark else UNSETTLED


def all_of(*verdicts: str) -> str:
    """Whether all that a rule asks for is so."""
    return next((one for one in (NOT, UNSETTLED) if one in verdicts), AGREES)

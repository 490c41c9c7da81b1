"""Tables of seeds beside a page: what has runs at hand is made anew, the rest stays as it is."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from attentest.store.atomic import write_text

__all__ = ["Row", "completed"]

Row = dict[str, str]


def completed(
    table: Path,
    fields: Sequence[str],
    made: Iterable[Row],
    order: Callable[[Row], Any],
    of: Sequence[str] = ("corpus",),
) -> list[Row]:
    """The table with these rows in the place of all those that were of the same; without any it is only read."""
    rows = sorted(made, key=order)
    new = {tuple(row[name] for name in of) for row in rows}
    before = csv.DictReader(table.read_text("utf-8").splitlines()) if table.is_file() else ()
    if not rows:
        return list(before)
    rows = [row for row in before if tuple(row[name] for name in of) not in new] + rows
    out = io.StringIO()
    writer = csv.DictWriter(out, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(table, out.getvalue())
    return rows

"""Tables of answers: with a row an answer, or with a row a person and a column an item, as survey tools write them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attentest.errors import InputError

__all__ = ["COLUMNS", "Incoming", "rows_of"]

#: What a column may be called, by what it holds; Prolific's and Qualtrics' names among them. How long somebody took for
#: all of a survey (Prolific's "Time taken") is not the time on an item.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "annotator": (
        "annotator",
        "participant_id",
        "participant id",
        "prolific_pid",
        "prolific_id",
        "worker_id",
        "workerid",
    ),
    "item": ("item", "item_id"),
    "choice": ("choice", "answer", "response"),
    "seconds": ("seconds", "rt_seconds"),
    "at": ("at", "completed_at", "completed at", "submitted_at", "timestamp", "enddate"),
}
OPTIONAL = ("seconds", "at")
#: What stands under "Status" where somebody withdrew or did not finish (Prolific), or nobody answered (Qualtrics).
LEFT_OUT = ("returned", "timed-out", "timed out", "consent_revoked", "survey preview", "survey test", "spam")
#: How Qualtrics begins every cell of the last of its rows of headings.
HEADING = '{"ImportId"'


@dataclass(frozen=True)
class Incoming:
    """One answer as it came: where it stands, and what it says."""

    place: str
    annotator: str
    item: str
    choice: str
    seconds: Any = None
    at: str = ""


def rows_of(
    path: Path, rows: list[Any], columns: Mapping[str, str], first: int, items: Collection[str]
) -> tuple[list[Incoming], int]:
    """The answers of a table, and how many rows were left out because of what their status says.

    ``first`` is the number of the first row. Where no column names the item and some columns are called by items, every
    such column holds answers.
    """
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path} holds no answers: it needs a row for each, with named columns.")
    there = [str(name) for name in rows[0] if name is not None]
    wide = [] if _found("item", there, columns) else [name for name in there if name.strip() in items]
    needed = [name for name in COLUMNS if not wide or name not in ("item", "choice", "seconds")]
    chosen = {name: _column(path, name, there, columns) for name in needed}
    headings = max((place for place, row in enumerate(rows[:3]) if _is_heading(row)), default=-1)
    found: list[Incoming] = []
    left_out = 0
    for number, row in enumerate(rows[headings + 1 :], start=first + headings + 1):
        if _is_left_out(row):
            left_out += 1
        else:
            found.extend(_answers(number, row, chosen, wide))
    return found, left_out


def _answers(
    number: int, row: Mapping[str, Any], chosen: Mapping[str, str | None], wide: list[str]
) -> Iterator[Incoming]:
    """The answer that a row holds, or all of somebody's; an item without an answer is none."""

    def cell(column: str | None) -> Any:
        value = row.get(column) if column else None
        return "" if value is None else value

    who, at = str(cell(chosen["annotator"])).strip(), str(cell(chosen["at"]))
    if not wide:
        item, choice = str(cell(chosen["item"])).strip(), str(cell(chosen["choice"]))
        yield Incoming(f"row {number}", who, item, choice, cell(chosen["seconds"]), at)
    for column in wide:
        if str(cell(column)).strip():
            yield Incoming(f"row {number}, column {column}", who, column.strip(), str(cell(column)), None, at)


def _is_heading(row: Mapping[str, Any]) -> bool:
    return any(str(value).startswith(HEADING) for value in row.values())


def _is_left_out(row: Mapping[str, Any]) -> bool:
    return any(
        str(value).strip().casefold() in LEFT_OUT
        for name, value in row.items()
        if str(name).strip().casefold() == "status"
    )


def _found(name: str, there: list[str], columns: Mapping[str, str]) -> str | None:
    """The column that holds something: as it was named, or the one that is called so."""
    if name in columns:
        return columns[name]
    by_name = {each.strip().casefold(): each for each in reversed(there)}
    return next((by_name[spelled] for spelled in COLUMNS[name] if spelled in by_name), None)


def _column(path: Path, name: str, there: list[str], columns: Mapping[str, str]) -> str | None:
    found = _found(name, there, columns)
    has = f"It has: {', '.join(there[:30])}{' …' if len(there) > 30 else ''}."
    if found is None and name not in OPTIONAL:
        raise InputError(f"{path} has no column for the {name}: name it with --columns {name}=COLUMN. {has}")
    if found is not None and found not in there:
        raise InputError(f"{path} has no column {found!r}. {has}")
    return found

"""Answers collected elsewhere: a table with a row an answer, or an export of Label Studio. All of them, or none."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from attentest.data.files.given import bytes_of_given
from attentest.errors import InputError, StorageError
from attentest.people.answers import Answer, AnswerKind, check_name
from attentest.people.item import Item
from attentest.people.study import PeopleStudy

__all__ = ["COLUMNS", "Incoming", "columns_from", "import_answers"]

#: What a column may be called, by what it holds; Prolific's and Qualtrics' names among them. The first two of none.
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
    "seconds": ("seconds", "rt_seconds", "time_taken", "time taken", "duration"),
    "at": ("at", "completed_at", "submitted_at", "timestamp"),
}
OPTIONAL = ("seconds", "at")
#: So many bad rows are named; the others are counted.
NAMED = 50
#: Bytes of a file of answers, and cells of its table.
LARGEST, MOST_CELLS = 256 << 20, 10_000_000


@dataclass(frozen=True)
class Incoming:
    """One row as it came: where it stands, and what it says."""

    place: str
    annotator: str
    item: str
    choice: str
    seconds: Any = None
    at: str = ""


def columns_from(text: str) -> dict[str, str]:
    """A mapping as it is typed: ``annotator=PROLIFIC_PID,choice=Q3``."""
    found = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, equals, column = part.partition("=")
        if name not in COLUMNS or not equals or not column:
            raise InputError(f"--columns {part!r} must be one of {', '.join(COLUMNS)}, then = and the column's name.")
        found[name] = column
    return found


def import_answers(study: PeopleStudy, path: Path, columns: Mapping[str, str] | None = None) -> tuple[int, int]:
    """Import the answers of a file, all or none: how many annotators, and how many answers.

    Every row that cannot be used is named, and then nothing is imported.
    """
    rows = _read(path, columns or {})
    answers: list[Answer] = []
    problems: list[str] = []
    seen: dict[tuple[str, str], str] = {}
    known = {each.name for each in study.store.annotators()}
    for row in rows:
        first = seen.setdefault((row.annotator, row.item), row.place)
        try:
            answer = _answer(study, row, known)
            if first != row.place:
                raise InputError(f"{row.annotator!r} answered item {row.item!r} in {first} already.")
            answers.append(answer)
        except InputError as error:
            problems.append(f"{row.place}: {str(error).rstrip('.')}")
    if problems:
        more = f"; and {len(problems) - NAMED:,} more" if len(problems) > NAMED else ""
        raise InputError(
            f"{path}: {len(problems):,} of {len(rows):,} rows cannot be imported, so none was. "
            f"{'; '.join(problems[:NAMED])}{more}."
        )
    if not answers:
        raise InputError(f"{path} holds no answers.")
    kind: AnswerKind = "imported"
    names = list(dict.fromkeys(answer.annotator for answer in answers))
    study.store.insert([(name, kind, 0) for name in names], answers)
    return len(names), len(answers)


def _answer(study: PeopleStudy, row: Incoming, known: set[str]) -> Answer:
    """The answer that a row holds; refused where it holds none."""
    check_name(row.annotator)
    if row.annotator in known:
        raise InputError(f"an annotator is already called {row.annotator!r}.")
    item = study.items.get(row.item)
    if item is None:
        raise InputError(f"item {row.item[:40]!r} is not of this study.")
    value = _value(item, row.choice)
    if value is None:
        values = ", ".join(choice.value for choice in item.shown.choices)
        raise InputError(f"{row.choice[:40]!r} is no answer ({values}).")
    return Answer(row.annotator, "imported", item.id, value, _seconds(row.seconds), row.at)


def _seconds(said: Any) -> float | None:
    if said in (None, ""):
        return None
    try:
        seconds = float(said)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise InputError(f"{str(said)[:40]!r} are no seconds.")
    return seconds


def _value(item: Item, said: str) -> str | None:
    """The choice that was meant: by what is stored, or by the words that were read."""
    wanted = said.strip().casefold()
    return next((c.value for c in item.shown.choices if wanted in (c.value.casefold(), c.words.casefold())), None)


def _read(path: Path, columns: Mapping[str, str]) -> list[Incoming]:
    ending = path.suffix.lower()
    try:
        if ending == ".json":
            return _label_studio(path, json.loads(_text(path)))
        if ending == ".jsonl":
            lines = [line for line in _text(path).splitlines() if line.strip()]
            return _table(path, [json.loads(line) for line in lines], columns, 1)
        if ending == ".parquet":
            return _table(path, _parquet(path), columns, 1)
        if ending in (".csv", ".tsv"):
            file = io.StringIO(_text(path), newline="")
            rows = list(csv.DictReader(file, delimiter="\t" if ending == ".tsv" else ",", strict=True))
            return _table(path, rows, columns, 2)
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}.") from error
    except RecursionError as error:
        raise InputError(f"{path} cannot be read: its JSON is nested too deep to hold answers.") from error
    except (ValueError, csv.Error, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read ({str(error).splitlines()[0]}).") from error
    raise InputError(f"{path} must be .csv, .tsv, .jsonl or .parquet, or .json as Label Studio exports it.")


def _text(path: Path) -> str:
    return bytes_of_given(path, LARGEST).decode("utf-8-sig")


def _parquet(path: Path) -> list[Any]:
    with pq.ParquetFile(pa.BufferReader(bytes_of_given(path, LARGEST))) as file:
        if file.metadata.num_rows * file.metadata.num_columns > MOST_CELLS:
            raise InputError(f"{path} has more than {MOST_CELLS:,} cells, which are the most. Give a part of it.")
        found: list[Any] = file.read().to_pylist()
    return found


def _table(path: Path, rows: list[Any], columns: Mapping[str, str], first: int) -> list[Incoming]:
    """A row an answer."""
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path} holds no answers: it needs a row for each, with named columns.")
    there = [str(name) for name in rows[0] if name is not None]
    chosen = {name: _column(path, name, there, columns) for name in COLUMNS}

    def cell(row: Mapping[str, Any], name: str) -> Any:
        column = chosen[name]
        value = row.get(column) if column else None
        return "" if value is None else value

    return [
        Incoming(
            f"row {number}",
            str(cell(row, "annotator")).strip(),
            str(cell(row, "item")).strip(),
            str(cell(row, "choice")),
            cell(row, "seconds"),
            str(cell(row, "at")),
        )
        for number, row in enumerate(rows, start=first)
    ]


def _column(path: Path, name: str, there: list[str], columns: Mapping[str, str]) -> str | None:
    """The column that holds something: as it was named, or the one that is called so."""
    if name in columns:
        if columns[name] not in there:
            raise InputError(f"{path} has no column {columns[name]!r}. It has: {', '.join(there)}.")
        return columns[name]
    for spelled in COLUMNS[name]:
        if (found := next((each for each in there if each.strip().casefold() == spelled), None)) is not None:
            return found
    if name in OPTIONAL:
        return None
    raise InputError(
        f"{path} has no column for the {name}: name it with --columns {name}=COLUMN. It has: {', '.join(there)}."
    )


def _label_studio(path: Path, tasks: Any) -> list[Incoming]:
    """The annotations of tasks, as Label Studio exports them (JSON)."""
    if isinstance(tasks, list) and all(isinstance(task, dict) and "annotations" in task for task in tasks):
        with contextlib.suppress(AttributeError, TypeError):  # a text where an object should stand
            return _annotations(tasks)
    raise InputError(f"{path} is no export of Label Studio: export the project as JSON, not as JSON-MIN.")


def _annotations(tasks: list[dict[str, Any]]) -> list[Incoming]:
    found = []
    for number, task in enumerate(tasks, start=1):
        for annotation in task["annotations"] or ():
            if annotation.get("was_cancelled"):
                continue
            by = annotation.get("completed_by")
            name = (by.get("email") or by.get("id")) if isinstance(by, dict) else by
            choices = [
                choice
                for result in annotation.get("result") or ()
                for choice in (result.get("value") or {}).get("choices", ())
            ]
            place = f"task {task.get('id', number)}, annotation {annotation.get('id', '?')}"
            item, at = str((task.get("data") or {}).get("item", "")), str(annotation.get("created_at") or "")
            said = str(choices[0]) if len(choices) == 1 else ""
            found.append(
                Incoming(place, "" if name is None else str(name), item, said, annotation.get("lead_time"), at)
            )
    return found

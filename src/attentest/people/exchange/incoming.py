"""Answers collected elsewhere: a table, or an export of Label Studio. All of them, or none."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from attentest.data.files.given import bytes_of_given
from attentest.errors import InputError, StorageError
from attentest.people.answers import Answer, AnswerKind, check_name
from attentest.people.exchange.tables import COLUMNS, Incoming, rows_of
from attentest.people.item import Item
from attentest.people.study import PeopleStudy

__all__ = ["Imported", "columns_from", "import_answers"]

#: So many bad rows are named; the others are counted.
NAMED = 50
#: Bytes of a file of answers, and cells of its table.
LARGEST, MOST_CELLS = 256 << 20, 10_000_000


@dataclass(frozen=True)
class Imported:
    """How many annotators and answers came, and how many rows were left out because of their status."""

    annotators: int
    answers: int
    left_out: int = 0


def columns_from(text: str) -> dict[str, str]:
    """A mapping as it is typed: ``annotator=PROLIFIC_PID,choice=Q3``."""
    found: dict[str, str] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, equals, column = part.partition("=")
        if name not in COLUMNS or not equals or not column:
            raise InputError(f"--columns {part!r} must be one of {', '.join(COLUMNS)}, then = and the column's name.")
        if name in found:
            raise InputError(f"--columns names {name!r} twice, as {found[name]!r} and {column!r}. Name it once.")
        found[name] = column
    return found


def import_answers(study: PeopleStudy, path: Path, columns: Mapping[str, str] | None = None) -> Imported:
    """Import the answers of a file, all or none.

    Every row that cannot be used is named, and then nothing is imported. Rows of people who returned their submission,
    which is how Prolific's withdraw, and previews are no answers.
    """
    rows, left_out = _read(path, columns or {}, study.items)
    answers: list[Answer] = []
    problems: list[str] = []
    seen: dict[tuple[str, str], str] = {}
    known = {each.name for each in study.store.annotators()}
    for name in dict.fromkeys(row.annotator for row in rows if row.annotator in known):
        problems.append(f"an annotator is already called {name!r}")
    for row in (row for row in rows if row.annotator not in known):
        first = seen.setdefault((row.annotator, row.item), row.place)
        try:
            answer = _answer(study, row)
            if first != row.place:
                raise InputError(f"{row.annotator!r} answered item {row.item!r} in {first} already.")
            answers.append(answer)
        except InputError as error:
            problems.append(f"{row.place}: {str(error).rstrip('.')}")
    if problems:
        bad = len(rows) - len(answers)
        more = f"; and {len(problems) - NAMED:,} more" if len(problems) > NAMED else ""
        raise InputError(
            f"{path}: {bad:,} of {len(rows):,} answers cannot be imported, so none was. "
            f"{'; '.join(problems[:NAMED])}{more}."
        )
    if not answers:
        raise InputError(f"{path} holds no answers.")
    kind: AnswerKind = "imported"
    names = list(dict.fromkeys(answer.annotator for answer in answers))
    study.store.insert([(name, kind, 0) for name in names], answers)
    return Imported(len(names), len(answers), left_out)


def _answer(study: PeopleStudy, row: Incoming) -> Answer:
    """The answer that a row holds; refused where it holds none."""
    check_name(row.annotator)
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


def _read(path: Path, columns: Mapping[str, str], items: Mapping[str, Item]) -> tuple[list[Incoming], int]:
    ending = path.suffix.lower()
    try:
        if ending == ".json":
            return _label_studio(path, json.loads(_text(path))), 0
        if ending == ".jsonl":
            lines = [line for line in _text(path).split("\n") if line.strip()]
            return rows_of(path, [json.loads(line) for line in lines], columns, 1, items)
        if ending == ".parquet":
            return rows_of(path, _parquet(path), columns, 1, items)
        if ending in (".csv", ".tsv"):
            file = io.StringIO(_text(path), newline="")
            table = csv.DictReader(file, delimiter="\t" if ending == ".tsv" else ",", strict=True)
            read, there = {*COLUMNS, *columns.values()}, Counter(table.fieldnames or ())
            if twice := [name for name, count in there.items() if count > 1 and name in read]:
                raise InputError(f"{path} has the column {twice[0]!r} twice: rename one.")
            rows = list(table)
            return rows_of(path, rows, columns, 2, items)
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

"""Files of rows, as named columns: CSV, TSV, JSON lines (each also as .gz) and Parquet.

What cannot be read is an InputError that names the file, the line and the next step.
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import stat
import zlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attentest.data.files.delimited import records
from attentest.data.files.encodings import decoded
from attentest.errors import InputError, shown
from attentest.memory import at_most

__all__ = ["Table", "columns_of_objects", "json_lines", "made_table", "read_table", "text_of_file"]

#: Bytes that reading one file may take; and the cells of a table, whatever they hold.
MEMORY = 8 << 30
MOST_CELLS = 50_000_000
#: Bytes of the values of a Parquet file, unpacked; and its rows that are unpacked at once.
UNPACKED, AT_ONCE = 2 << 30, 256
#: A packed file may unpack to this many times its size, and to a small one's allowance; text packs to a tenth or so.
RATIO, ALLOWANCE = 50, 64 << 20


@dataclass(frozen=True)
class Table:
    """Rows by column: of one file, or from a Python program. Columns of Arrow stay Arrow arrays until asked for."""

    #: What messages call it: the file's name.
    name: str
    #: What its corpus is called, and its rows where they have no ids: the file's name without its format.
    stem: str
    columns: Mapping[str, Any]
    rows: int
    #: Where it comes from, in full.
    source: str = ""
    #: What there is to say of how it was read.
    notes: tuple[str, ...] = ()

    def cells(self, column: str) -> list[object]:
        """A column's values as Python objects, None where there is none."""
        values = self.columns[column]
        try:
            cells: list[object] = values if isinstance(values, list) else values.to_pylist()
        except UnicodeDecodeError as error:
            raise InputError(
                f"{self.name}, column {column!r} holds text that is not UTF-8 ({error.reason}). "
                "Write the file again as UTF-8."
            ) from error
        except (OverflowError, ValueError) as error:  # a time beyond those that Python has
            raise InputError(
                f"{self.name}, column {column!r} holds a value that cannot be read ({shown(str(error), 80)[1:-1]}). "
                "Write the column as text."
            ) from error
        return cells


def read_table(path: Path, encoding: str | None = None) -> Table:
    """A file of rows in the format its name ends with; its encoding is guessed where none is named."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist: check the path.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check the path.") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder: name one file of rows in it, such as {path / 'data.csv'}.")
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} is no file of rows but a pipe or a device: write the rows to a file, and name that.")
    try:
        with at_most(MEMORY):
            table = _read(path, encoding)
    except (MemoryError, OverflowError) as error:
        raise InputError(
            f"{path.name} takes more than {MEMORY >> 30} GB of memory to read: give a part of it, with fewer rows."
        ) from error
    if not table.rows:
        raise InputError(f"{path.name} has a header ({_header(table)}) and no rows: add rows.")
    return table


def _read(path: Path, encoding: str | None) -> Table:
    note = ""
    match _plain(path).suffix.lower():
        case ".csv":
            text, note = _text_and_note(path, encoding)
            table = _from_records(path, *records(path.name, text, ",;\t|"))
        case ".tsv":
            text, note = _text_and_note(path, encoding)
            table = _from_records(path, *records(path.name, text, "\t,;|"))
        case ".jsonl" | ".ndjson":
            text, note = _text_and_note(path, encoding)
            table = _from_objects(path, json_lines(path, text))
        case ".parquet" if path.suffix.lower() == ".parquet":
            table = _from_parquet(path)
        case _:
            raise InputError(
                f"{path.name} is of no known format: save it as .csv, .tsv, .jsonl (one JSON object a line) "
                "or .parquet; the first three may be .gz."
            )
    return dataclasses.replace(table, notes=(note,)) if note else table


def _header(table: Table) -> str:
    return shown(", ".join(table.columns), 200)[1:-1]


def made_table(path: Path, columns: Mapping[str, Any], rows: int) -> Table:
    """The rows of a file as a table."""
    return Table(path.name, _plain(path).stem, columns, rows, str(path))


def columns_of_objects(rows: Sequence[Mapping[str, object]]) -> dict[str, list[object]]:
    """Rows that each name their values as columns, None where a row has none."""
    names = dict.fromkeys(name for row in rows for name in row)
    refuse_too_many("The data", len(rows), len(names))
    return {name: [row.get(name) for row in rows] for name in names}


def refuse_too_many(name: str, rows: int, columns: int) -> None:
    """Refuse a table of more cells than anybody's texts have, before memory is taken for them."""
    if rows * columns > MOST_CELLS:
        raise InputError(
            f"{name} has {rows:,} rows of {columns:,} columns, and {MOST_CELLS:,} cells are the most. "
            "Give a part of it, or only the columns that are read."
        )


def _plain(path: Path) -> Path:
    return path.with_suffix("") if path.suffix.lower() == ".gz" else path


def text_of_file(path: Path) -> str:
    """The text of a UTF-8 file, unpacked if it ends with .gz, without byte-order mark and NUL characters."""
    return _text_and_note(path, "utf-8")[0]


def _text_and_note(path: Path, encoding: str | None) -> tuple[str, str]:
    """The text of a file, and a line about its encoding where that was guessed."""
    try:
        content = _unpacked(path) if path.suffix.lower() == ".gz" else path.read_bytes()
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(
            f"{path.name} is not a whole gzip file ({error}): copy it again, or unpack it and drop the .gz."
        ) from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check its permissions.") from error
    text, note = decoded(path, content, encoding)
    if not text.strip():
        raise _empty(path)
    return text, note


def _unpacked(path: Path) -> bytes:
    """What a gzip file holds, where that is not more than a text could be packed to."""
    most = RATIO * path.stat().st_size + ALLOWANCE
    with gzip.open(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise InputError(
            f"{path.name} unpacks to more than {RATIO} times its size, as no text does: it is damaged, or made to fill "
            "memory. If it is meant so, unpack it and drop the .gz."
        )
    return content


def _empty(path: Path) -> InputError:
    return InputError(f"{path.name} is empty: it needs a text and a label for every row.")


def json_lines(path: Path, text: str) -> list[dict[str, object]]:
    """One JSON object a line as dictionaries; blank lines are skipped."""
    rows: list[dict[str, object]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise InputError(
                f"{path.name}, line {number} is not JSON ({why}): write one whole object a line."
            ) from error
        if not isinstance(row, dict):
            raise InputError(
                f"{path.name}, line {number} holds a {type(row).__name__}, not an object: "
                'write {"text": …, "label": …}, one a line.'
            )
        rows.append(row)
    return rows


def _from_objects(path: Path, rows: list[dict[str, object]]) -> Table:
    return made_table(path, columns_of_objects(rows), len(rows))


def _from_records(path: Path, header: list[str], rows: list[list[str]]) -> Table:
    names = [name.strip() for name in header]
    refuse_too_many(path.name, len(rows), len(names))
    _refuse_a_column_twice(path, names)
    columns = {name: [row[i] if i < len(row) else None for row in rows] for i, name in enumerate(names)}
    return made_table(path, columns, len(rows))


def _from_parquet(path: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if not path.stat().st_size:
            raise _empty(path)
        with pq.ParquetFile(path) as file:
            _refuse_a_column_twice(path, file.schema_arrow.names)
            refuse_too_many(path.name, file.metadata.num_rows, file.metadata.num_columns)
            table = _unpacked_table(path, file)
    except (pa.ArrowException, OSError) as error:
        why = str(error).split("\n")[0].rstrip(".")
        raise InputError(f"{path.name} is not a whole Parquet file ({why}): write or copy it again.") from error
    return made_table(path, {name: table[name] for name in table.column_names}, table.num_rows)


def _unpacked_table(path: Path, file: Any) -> Any:
    """All rows; a value that is stored once and named by a million rows counts a million times."""
    import pyarrow as pa

    names = file.schema_arrow.names
    batches, size = [], 0
    for batch in file.iter_batches(batch_size=AT_ONCE):
        columns = [one.dictionary_decode() if pa.types.is_dictionary(one.type) else one for one in batch.columns]
        size += sum(column.nbytes for column in columns)
        if size > UNPACKED:
            raise InputError(
                f"{path.name} unpacks to more than {UNPACKED >> 30} GB: give a part of it, or only the columns that "
                "are read."
            )
        batches.append(pa.RecordBatch.from_arrays(columns, names=names))
    return pa.Table.from_batches(batches) if batches else file.read()


def _refuse_a_column_twice(path: Path, names: Sequence[str]) -> None:
    twice = next((name for name, count in Counter(names).items() if name and count > 1), None)
    if twice is not None:
        raise InputError(f"{path.name} has the column {shown(twice)} twice: rename one.")

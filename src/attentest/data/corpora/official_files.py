"""Finding and reading the files that corpora are published as, with errors of one line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from attentest.data.catalog.cleaning import csv_records
from attentest.errors import InputError

__all__ = ["csv_rows", "found", "json_objects", "line_pairs", "lines"]


def found(folder: Path, name: str) -> Path:
    """The file of that name (a suffix of its path), gzipped or not, anywhere below the folder; the shallowest."""
    last = name.rsplit("/", 1)[-1]
    paths = [path for ending in ("", ".gz") for path in folder.rglob(last + ending) if path.is_file()]
    fitting = [path for path in paths if _fits(path.resolve(), name)]
    if not fitting:
        raise InputError(f"{folder} has no file {name}: give the folder that holds the official files.")
    return min(fitting, key=lambda path: (len(path.parts), str(path)))


def _fits(path: Path, name: str) -> bool:
    return "__MACOSX" not in path.parts and path.as_posix().removesuffix(".gz").endswith(f"/{name}")


def lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, cut at line feeds only: translations hold other line separators."""
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8", newline="\n") as file:
            for line in file:
                yield str(line).rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}.") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is damaged ({error}): fetch it again.") from error


def line_pairs(first: Path, second: Path) -> Iterator[tuple[str, str]]:
    """The lines of two files side by side; one that ends early is an error."""
    for number, (one, other) in enumerate(zip_longest(lines(first), lines(second)), start=1):
        if one is None or other is None:
            short, long = (first, second) if one is None else (second, first)
            raise InputError(
                f"{short} ends before line {number}, and {long.name} goes on: they must have as many lines."
            )
        yield one, other


def json_objects(path: Path) -> Iterator[dict[str, Any]]:
    """One JSON object a line."""
    for number, line in enumerate(lines(path), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError as error:
            raise InputError(f"{path}, line {number} is not JSON: {error}.") from error
        if not isinstance(value, dict):
            raise InputError(f"{path}, line {number} is not a JSON object.")
        yield value


def csv_rows(path: Path, columns: Sequence[str], *, delimiter: str = ",") -> Iterator[dict[str, str]]:
    """The rows of a table whose header has these columns, by the header's names."""
    header: list[str] = []
    for number, record in enumerate(csv_records(path, delimiter=delimiter), start=1):
        if not header:
            header = record
            if lacking := [column for column in columns if column not in header]:
                raise InputError(f"{path} has no column {lacking[0]!r}: the official file has {', '.join(columns)}.")
        elif len(record) != len(header):
            raise InputError(f"{path}, record {number} has {len(record)} fields, and the header has {len(header)}.")
        else:
            yield dict(zip(header, record, strict=True))

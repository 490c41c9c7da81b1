"""The rows of a corpus on this machine: <data folder>/<corpus>/<split>.jsonl.gz, streamed and checked."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from attentest.data.catalog.cache import sum_of
from attentest.data.catalog.location import data_folder
from attentest.data.corpora.declared import Declared, Row, Rows
from attentest.errors import InputError

__all__ = ["ENDING", "RowsOnDisk", "Where", "checked", "rows_folder", "where"]

ENDING = ".jsonl.gz"


def rows_folder(declared: Declared) -> Path:
    """The folder that holds, or would hold, the corpus's rows."""
    return data_folder() / (declared.folder or declared.name)


class RowsOnDisk(Rows):
    """The rows of a declared corpus, one line in memory at a time."""

    def __init__(self, declared: Declared, folder: Path | None = None) -> None:
        self.declared = declared
        self.folder = rows_folder(declared) if folder is None else folder

    def __call__(self, split: str) -> Iterator[dict[str, Any]]:
        """The rows of one split, each checked against the declaration."""
        if not self.has(split):
            raise self._missing(split)
        path = self.path(split)
        return checked(self.declared, _lines(path), f"{path}, line")

    def has(self, split: str) -> bool:
        """Whether the split is on this machine."""
        return self.path(split).is_file()

    def path(self, split: str) -> Path:
        """The file of one split."""
        return self.folder / f"{split}{ENDING}"

    @property
    def files(self) -> dict[str, Path]:
        """Every split that is there, needed or not, by name."""
        found = {path.name.removesuffix(ENDING): path for path in sorted(self.folder.glob(f"*{ENDING}"))}
        usual = ("train", "dev", "test")
        return {split: found[split] for split in dict.fromkeys((*usual, *found)) if split in found}

    def _missing(self, split: str) -> InputError:
        declared = self.declared
        here = ", ".join(self.files)
        what = f"has no split {split!r} on this machine" if here else "is not on this machine"
        named = f"{declared.folder or declared.name}/{split}{ENDING}"
        get = f"'attentest corpora get {declared.name}"
        how = f"{get}'" if declared.sources else f"{get} --from DIR', DIR with its files from {declared.homepage}"
        return InputError(
            f"Corpus {declared.name!r} {what}: {self.path(split)} does not exist"
            f"{f' (there: {here})' if here else ''}. Run {how}, "
            f"or set ATTENTEST_DATA to the folder that holds {named}."
        )


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    """Every line's JSON with its number; what cannot be read is named."""
    number = 0
    try:
        with gzip.open(path) as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, json.loads(line)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a whole gzip file ({error}): get or copy it again.") from error
    except (ValueError, RecursionError) as error:
        kind = "UTF-8" if isinstance(error, UnicodeDecodeError) else "JSON"
        why = getattr(error, "reason", "") or getattr(error, "msg", "") or str(error)
        raise InputError(f"{path}, line {number} is not {kind} ({why}): one JSON object a line.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): check its permissions.") from error


def checked(declared: Declared, rows: Iterable[tuple[int, Any]], place: str) -> Iterator[dict[str, Any]]:
    """Numbered rows that have the declared fields, an id of their own, a text, and a label that is known."""
    texts = [name for name in declared.texts if name in declared.fields]
    first: dict[str, int] = {}
    for number, row in rows:
        here = f"{place} {number}"
        if not isinstance(row, dict):
            raise InputError(f"{here} is a {type(row).__name__}, not an object with {', '.join(declared.fields)}.")
        if lacking := [name for name in declared.fields if name not in row]:
            raise InputError(
                f"{here} has no {lacking[0]!r}: corpus {declared.name!r} needs {', '.join(declared.fields)} in every "
                "row."
            )
        for name in texts:
            _refuse_no_text(row, name, here)
        if declared.labels and row.get("label") not in declared.labels:
            known = ", ".join("null" if label is None else repr(label) for label in declared.labels)
            raise InputError(
                f"{here} has the label {str(row.get('label'))[:40]!r}, which corpus {declared.name!r} does not know: "
                f"its labels are {known}. Correct the row, or get the corpus again."
            )
        name = str(row.get("id", number))
        if name in first:
            raise InputError(f"{here} has the id {name[:80]!r} of row {first[name]}: every row needs an id of its own.")
        first[name] = number
        yield row


def _refuse_no_text(row: Row, name: str, here: str) -> None:
    value = row[name]
    if not isinstance(value, str | list):
        raise InputError(f"{here}: {name!r} is {type(value).__name__}, not a text. Correct the row or take it out.")
    if not value or (isinstance(value, str) and not value.strip()):
        raise InputError(f"{here} has no text: {name!r} is empty. Correct the row or take it out.")


@dataclass(frozen=True)
class Where:
    """Whether a corpus is on this machine: its folder, the needed splits there and not there, what is short."""

    folder: Path
    rows: dict[str, int]
    missing: tuple[str, ...]
    #: "train has 100,000 of 550,152 rows", where the declaration says how many there should be.
    short: tuple[str, ...] = ()

    @property
    def here(self) -> Literal["yes", "partial", "no"]:
        """All of it, some of it or none."""
        if not self.rows:
            return "no"
        return "partial" if self.missing or self.short else "yes"


def where(declared: Declared) -> Where:
    """What of the corpus is on this machine; counting the rows of a file that is new reads it once."""
    files = RowsOnDisk(declared).files
    rows = {split: sum_of(path).rows for split, path in files.items()}
    whole = {figure.split: int(figure.value) for figure in declared.expected if figure.what == "rows"}
    short = [
        f"{split} has {rows[split]:,} of {whole[split]:,} rows" for split in rows if rows[split] < whole.get(split, 0)
    ]
    missing = tuple(split for split in declared.splits if split not in files)
    return Where(rows_folder(declared), rows, missing, tuple(short))

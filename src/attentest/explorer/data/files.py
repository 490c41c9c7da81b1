"""A run's findings, read in parts: some columns of some texts, checked page by page, so that memory stays flat.

A text is known by its row: its place among the run's instances, from 0. Other findings hold its id, once or several
times in a row, in the same order.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attentest.errors import InputError, StorageError, UnknownName
from attentest.store.findings import Description, described
from attentest.store.folder import RunFolder

__all__ = ["Kept", "NoSuchText", "RunFiles"]

Found = TypeVar("Found")
#: Columns of single numbers that are kept of a run, and answers of all runs.
COLUMNS = 48


class NoSuchText(InputError):
    """A row that no text of the run has."""


class Kept:
    """What was computed last, by its key; the oldest goes. One thread computes a thing, others wait for it."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._found: OrderedDict[Any, tuple[threading.Lock, list[Any]]] = OrderedDict()

    def get(self, key: Any, make: Callable[[], Found]) -> Found:
        """What is kept under the key, or made now."""
        with self._lock:
            lock, held = self._found.setdefault(key, (threading.Lock(), []))
            self._found.move_to_end(key)
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        with lock:
            if not held:
                held.append(make())
            found: Found = held[0]
            return found

    def peek(self, key: Any) -> Any:
        """What is kept under the key, or None."""
        held = self._found.get(key, (None, []))[1]
        return held[0] if held else None


class RunFiles:
    """The findings of one run; what is read of them is kept while the run does not change."""

    def __init__(self, path: Path) -> None:
        self.folder = RunFolder(path)
        self.record = self.folder.record
        self.fields: dict[str, Any] = self.record["fields"]
        self._kept, self._whole = Kept(COLUMNS), Kept(len(self.record["finished"]) + 1)
        about = (path / "run.json").stat()
        #: What tells this state of the run from a later one.
        self.stamp = about.st_mtime_ns, about.st_size

    @property
    def id(self) -> str:
        """The run's id."""
        return self.folder.path.name

    @property
    def challenges(self) -> list[str]:
        """The names of the finished findings."""
        names = [name for name in self.record["finished"] if name.startswith("findings/")]
        return [name.removeprefix("findings/").removesuffix(".parquet") for name in names]

    def named(self, challenge: str) -> str | None:
        """The findings of a challenge of this name: with its default parameters, or else with others."""
        variants = [c for c in self.challenges if c == challenge or c.startswith(f"{challenge}-")]
        return min(variants, key=len, default=None)

    def has(self, challenge: str, *columns: str) -> bool:
        """Whether there are findings of this challenge, with these columns."""
        name = self.named(challenge)
        return name is not None and {*columns} <= {*self.schema(name).names}

    @property
    def texts(self) -> int:
        """How many texts, or steps of writing, were examined."""
        return self._kept.get("texts", lambda: int(self._open("instances").metadata.num_rows))

    @property
    def classes(self) -> list[str]:
        """The names of the classes."""
        return [str(name) for name in self.fields.get("corpus", {}).get("classes", [])]

    def schema(self, name: str) -> pa.Schema:
        """The columns of a findings file."""
        return self._kept.get(("schema", name), lambda: self._open(name).schema_arrow)

    def about(self, challenge: str) -> Description:
        """What findings say of themselves."""
        name = self._name(challenge)
        try:
            return described(self._path(name), self.schema(name))
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f"Findings {self._path(name)} do not say what they are.") from error

    def check_row(self, row: int) -> int:
        """The row, where there is such a text."""
        if not 0 <= row < self.texts:
            raise NoSuchText(f"Row {row} is outside of the {self.texts:,} texts of {self.id}, which begin at 0.")
        return row

    def take(self, challenge: str, places: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """Some rows of a file by their places, in this order; row groups that hold none of them are not read."""
        name = self._name(challenge)
        file, wanted = self._open(name), np.asarray(places, dtype=np.int64)
        order = np.argsort(wanted, kind="stable")
        kept = [file.schema_arrow.field(c).name for c in columns] if columns is not None else None
        ends = self._kept.get(("groups", name), lambda: _ends(file.metadata))
        parts = []
        for group in np.unique(np.searchsorted(ends, wanted, side="right")).tolist():
            start = int(ends[group - 1]) if group else 0
            low, high = np.searchsorted(wanted[order], [start, int(ends[group])])
            table = self._read(name, lambda g=group: file.read_row_group(g, columns=kept, use_threads=False))
            parts.append(table.take(pa.array(wanted[order[low:high]] - start)))
        if not parts:
            return file.schema_arrow.empty_table().select(kept or file.schema_arrow.names)
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return pa.concat_tables(parts).take(pa.array(back))

    def of_texts(self, challenge: str, rows: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """All rows that a file has of these texts."""
        first, count = self._places(self._name(challenge))
        places = [place for row in rows for place in range(first[row], first[row] + count[row])]
        return self.take(challenge, places, columns)

    def numbers(self, challenge: str, column: str, where: Mapping[str, str] | None = None) -> np.ndarray:
        """A number for every text, by its row; NaN where it was not judged."""
        key = ("numbers", challenge, column, tuple(sorted((where or {}).items())))
        return self._kept.get(key, lambda: self._numbers(challenge, column, where or {}))

    def kept(self, key: Any, make: Callable[[], Found]) -> Found:
        """What was computed of this run before, or is now."""
        return self._kept.get(("kept", key), make)

    def ids(self) -> pa.ChunkedArray:
        """The ids of all texts, by row."""
        return self.columns("instances", "id")["id"]

    def columns(self, challenge: str, *columns: str) -> pa.Table:
        """Some columns of all rows; texts of few kinds come as dictionaries."""
        name = self._name(challenge)
        schema = self.schema(name)
        if missing := [column for column in columns if column not in schema.names]:
            raise UnknownName(f"column of {name} in this run", missing[0], schema.names)
        kinds = [column for column in columns if column != "id" and pa.types.is_string(schema.field(column).type)]
        file = self._open(name, kinds)
        return self._read(name, lambda: file.read(columns=list(columns)))

    def _numbers(self, challenge: str, column: str, where: Mapping[str, str]) -> np.ndarray:
        name = self._name(challenge)
        guard = ["not_judged"] if "not_judged" in self.schema(name).names else []
        # A file with one row for each text needs no ids: its rows are theirs.
        single = not where and self._rows(name) == self.texts
        table = self.columns(name, *dict.fromkeys((*([] if single else ["id"]), column, *guard, *where)))
        for key, value in where.items():
            table = table.filter(pc.equal(table[key].cast(pa.string()), value))
        values = table[column].cast(pa.float64())
        if guard:
            values = pc.if_else(pc.is_null(table["not_judged"]), values, None)
        found: np.ndarray = values.to_numpy()
        if single:
            return found
        out = np.full(self.texts, np.nan)
        place = pc.index_in(table["id"], self.ids().combine_chunks())
        there = pc.is_valid(place).to_numpy(zero_copy_only=False)
        out[pc.fill_null(place, 0).to_numpy()[there]] = found[there]
        return out

    def _places(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Where each text's rows begin in a file, and how many there are."""
        return self._kept.get(("places", name), lambda: self._find_places(name))

    def _find_places(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        rows, texts = self._rows(name), self.texts
        if name == "instances" or rows == texts:
            return np.arange(texts), np.ones(texts, np.int64)
        ids = self.columns(name, "id")["id"].combine_chunks()
        ids = ids.chunk(0) if isinstance(ids, pa.ChunkedArray) else ids
        change = np.ones(rows, dtype=bool)
        if rows > 1:
            change[1:] = pc.not_equal(ids[1:], ids[:-1]).to_numpy(zero_copy_only=False)
        begins = np.flatnonzero(change)
        sizes = np.diff([*begins, rows])
        place = pc.index_in(ids.take(pa.array(begins)), self.ids().combine_chunks())
        there = pc.is_valid(place).to_numpy(zero_copy_only=False)
        at = pc.fill_null(place, 0).to_numpy(zero_copy_only=False)[there]
        first, count = np.zeros(texts, np.int64), np.zeros(texts, np.int64)
        first[at], count[at] = begins[there], sizes[there]
        return first, count

    def _rows(self, name: str) -> int:
        return self._kept.get(("rows", name), lambda: int(self._open(name).metadata.num_rows))

    def _name(self, challenge: str) -> str:
        name = self.named(challenge)
        if name is None:
            raise UnknownName(f"finished challenge of {self.id}", challenge, self.challenges)
        return name

    def _path(self, name: str) -> Path:
        return self.folder.path / "findings" / f"{name}.parquet"

    def _open(self, name: str, kinds: Sequence[str] = ()) -> pq.ParquetFile:
        """A findings file; what its end says of its row groups is read once."""
        path = self._path(name)
        if name not in self.challenges:
            raise StorageError(
                f"{self.id} has no finished findings of {name!r}. Run the same audit again to complete it."
            )
        self._whole.get(name, lambda: self.folder.verify(f"findings/{name}.parquet"))
        about = self._kept.get(("metadata", name), lambda: self._read(name, lambda: pq.read_metadata(path)))
        options: dict[str, Any] = {"page_checksum_verification": True, "read_dictionary": list(kinds)}
        return self._read(name, lambda: pq.ParquetFile(path, metadata=about, **options))

    def _read(self, name: str, make: Callable[[], Found]) -> Found:
        try:
            return make()
        except (OSError, pa.ArrowException) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise StorageError(
                f"Findings {self._path(name)} cannot be read ({reason}). Delete the file and run the audit again."
            ) from error


def _ends(about: pq.FileMetaData) -> np.ndarray:
    """The row at which each row group ends."""
    return np.cumsum([about.row_group(group).num_rows for group in range(about.num_row_groups)])

"""From finished cells to numbers: what a measure of a paper is in the findings of the runs that stand for it."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePath
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attentest.errors import InputError, StorageError
from attentest.papers.counts import COUNTS, counted
from attentest.papers.row_statistics import Rows, rows_of
from attentest.papers.rules import CorpusRule, MeasureRule
from attentest.statistics.resampling import Sample
from attentest.store.findings import Description, Measure, described
from attentest.store.folder import RunFolder

__all__ = ["Cell", "Evidence", "Group", "Read", "grouped", "in_words", "parameters"]

#: Choices whose value says what they are, and those that a description of runs leaves out.
NAMED = ("corpus", "structure", "encoder", "fine_tune", "decoder", "attention", "head")
LEFT_OUT = ("seed", "device", "challenges")
#: Columns that some findings do not have.
_OPTIONAL = ("sentence",)


class Cell(Protocol):
    """A finished run of a study and the choices that made it (keyword arguments of ``describe_run``)."""

    @property
    def choices(self) -> Mapping[str, Any]:
        """corpus, encoder, attention, vectors, preset, seed, limit, …"""

    @property
    def folder(self) -> RunFolder:
        """Its findings."""


@dataclass(frozen=True)
class Group:
    """Cells that differ only in their seed, ordered by it."""

    cells: tuple[Cell, ...]

    @property
    def choices(self) -> Mapping[str, Any]:
        """What they share; the seed is the first one's."""
        return self.cells[0].choices

    @cached_property
    def records(self) -> tuple[Mapping[str, Any], ...]:
        """Every cell's run.json."""
        return tuple(cell.folder.record for cell in self.cells)

    @property
    def seeds(self) -> tuple[int, ...]:
        """One for every cell."""
        return tuple(int(cell.choices.get("seed") or 0) for cell in self.cells)

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The runs' names."""
        return tuple(cell.folder.path.name for cell in self.cells)

    @property
    def in_words(self) -> str:
        """What the runs are, whatever their names: every choice that makes them, but the seed."""
        return "; ".join(dict.fromkeys(in_words(cell.choices) for cell in self.cells))

    def has(self, challenge: str) -> bool:
        """Whether every cell has finished findings of the challenge."""
        return all(_file(cell.folder, challenge) is not None for cell in self.cells)

    def made_with(self, what: str) -> str:
        """A version or device, all of them where the cells differ."""
        found = [str(record.get("made_with", {}).get(what, "")) for record in self.records]
        return ", ".join(dict.fromkeys(one for one in found if one))


def in_words(choices: Mapping[str, Any]) -> str:
    """The names of what was chosen, then the settings, each with its name."""
    named = [PurePath(str(choices[name])).name for name in NAMED if choices.get(name)]
    settings = {
        name: value for name, value in choices.items() if name not in (*NAMED, *LEFT_OUT) and value not in (None, "")
    }
    return ", ".join([*named, *(f"{name} {value}" for name, value in sorted(settings.items()))])


def _file(folder: RunFolder, challenge: str) -> str | None:
    """The finished findings of a challenge: with the parameters it names; of a bare name, its defaults first."""
    name = f"findings/{challenge.partition('(')[0]}"
    finished = sorted(folder.record["finished"], key=len)
    found = [file for file in finished if file == f"{name}.parquet" or file.startswith(f"{name}-")]
    if "(" in challenge:
        found = [file for file in found if parameters(_asked(folder, file)) == parameters(challenge)]
    return next(iter(found), None)


def _asked(folder: RunFolder, file: str) -> str:
    """The challenge that findings say they answer, with its parameters."""
    try:
        path = folder.verify(file)
        return described(path, pq.read_schema(path)).challenge
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise _unreadable(folder, file, error) from error


def parameters(text: str) -> dict[str, str]:
    """The parameters in a challenge's text, each as it is written."""
    call = ast.parse(text if "(" in text else f"{text}()", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(keyword.arg): ast.unparse(keyword.value) for keyword in call.keywords}


def grouped(cells: Iterable[Cell]) -> list[Group]:
    """Cells by everything but their seed; of two cells with one seed the first by name stands."""
    found: dict[str, dict[int, Cell]] = {}
    for cell in sorted(cells, key=lambda cell: cell.folder.path.name):
        rest = {str(k): v for k, v in cell.choices.items() if k not in ("seed", "device") and v is not None}
        key = json.dumps(rest, sort_keys=True, default=str)
        found.setdefault(key, {}).setdefault(int(cell.choices.get("seed") or 0), cell)
    return [Group(tuple(cells[seed] for seed in sorted(cells))) for _, cells in sorted(found.items())]


@dataclass
class Read:
    """What was read of one file of findings: its columns, and the rows, as the choices that single them out."""

    columns: dict[str, None] = field(default_factory=dict)
    rows: list[Mapping[str, str]] = field(default_factory=list)


@dataclass
class Evidence:
    """Reads findings, each column once, and notes what it reads."""

    #: By run and file.
    read: dict[tuple[RunFolder, str], Read] = field(default_factory=dict)
    _files: dict[tuple[str, str], pq.ParquetFile] = field(default_factory=dict)
    _tables: dict[tuple[str, str, tuple[str, ...]], pa.Table] = field(default_factory=dict)

    def challenge_text(self, group: Group, challenge: str) -> str:
        """The challenge as it was run, with its parameters."""
        return self._about(group.cells[0].folder, challenge).challenge

    @staticmethod
    def has(folder: RunFolder, challenge: str) -> bool:
        """Whether a run has finished findings of a challenge."""
        return _file(folder, challenge) is not None

    def sample(
        self,
        group: Group,
        rule: MeasureRule,
        label: str = "",
        rows: Rows | None = None,
        only: Mapping[str, str] | None = None,
    ) -> Sample | None:
        """A measure over a group of cells, for one predicted class or for all; None when no text was judged.

        ``rows`` says what is computed in place of the rule's own statistic, ``only`` from which rows besides.
        """
        frames = [self._frame(cell.folder, rule, label, rows, only or {}) for cell in group.cells]
        texts = {name: text for frame in frames for name, text in zip(frame.ids, frame.texts, strict=True)}
        ids = tuple(sorted(texts))
        if not ids or not any(frame.judged for frame in frames):
            return None
        place = {name: i for i, name in enumerate(ids)}
        first = frames[0]
        nothing = -1 if first.rows.classes else np.nan
        columns = [np.full((len(frames), len(ids), *values.shape[1:]), nothing) for values in first.columns]
        for row, frame in enumerate(frames):
            where = np.array([place[name] for name in frame.ids], dtype=np.int64)
            for column, values in zip(columns, frame.columns, strict=True):
                if values.ndim == 1:
                    column[row, where] = values
                else:
                    _add(column[row], where, values)
        judged, not_judged = sum(frame.judged for frame in frames), sum(frame.not_judged for frame in frames)
        spread = _spread(columns[0]) if rows is None and rule.statistic == "mean" else math.nan
        by_seed = tuple(frame.judged for frame in frames)
        drawn = tuple(texts[name] for name in ids)
        return Sample(ids, group.seeds, first.rows.statistic(*columns), judged, not_judged, spread, by_seed, drawn)

    def count(self, group: Group, rule: MeasureRule, corpus: CorpusRule, label: str) -> float | None:
        """A number of corpus.json; None where the runs do not hold it."""
        folder = group.cells[0].folder
        if COUNTS not in folder.record["finished"]:
            return None
        path = folder.verify(COUNTS)
        self.read.setdefault((folder, COUNTS), Read())
        try:
            return counted(json.loads(path.read_text("utf-8")), rule.count, corpus, label)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise StorageError(
                f"{path} does not hold what is counted ({error}). Delete {folder.path}, run again."
            ) from error

    def _frame(
        self, folder: RunFolder, rule: MeasureRule, label: str, rows: Rows | None, only: Mapping[str, str]
    ) -> _Frame:
        declared = _declared(self._about(folder, rule.challenge), rule, rule.declared(label))
        declared = replace(declared, where={**declared.where, **rule.where, **only})
        read = rows or rows_of(rule, declared.column)
        # A group that is a number is a class.
        predicted = ["predicted"] if label.isdigit() else []
        wanted = ["id", *_OPTIONAL, *predicted, "not_judged", *declared.where, *rule.given, *read.columns]
        table = self.table(folder, rule.challenge, tuple(dict.fromkeys(wanted)), declared.where)
        for column, value in declared.where.items():
            table = table.filter(pc.equal(table[column], value))
        # Every text stays, so that all measures of a corpus share their resamples; those left out have no value.
        inside = np.ones(len(table), bool)
        if predicted:
            inside &= pc.equal(table["predicted"], int(label)).to_numpy()
        for column, least in rule.given.items():
            inside &= pc.fill_null(pc.greater_equal(table[column], least), False).to_numpy()
        return _Frame.of(table, read, inside)

    def table(
        self, folder: RunFolder, challenge: str, columns: tuple[str, ...], rows: Mapping[str, str] | None = None
    ) -> pa.Table:
        """Some columns of a challenge's findings; all rows, of which the caller takes ``rows`` or all."""
        key = (str(folder.path), challenge, columns)
        noted = self.read.setdefault((folder, self._name(folder, challenge)), Read())
        noted.columns |= dict.fromkeys(columns)
        if dict(rows or {}) not in noted.rows:
            noted.rows.append(dict(rows or {}))
        if key not in self._tables:
            file = self._file(folder, challenge)
            here = [column for column in columns if column in file.schema_arrow.names]
            try:
                table = file.read(columns=here)
            except (OSError, pa.ArrowException) as error:
                raise _unreadable(folder, challenge, error) from error
            for column in columns:
                if column not in (*here, *_OPTIONAL):
                    if column != "not_judged":
                        raise InputError(f"{folder.path}: its {challenge} has no {column!r}; it is of another version.")
                    table = table.append_column(column, pa.nulls(len(table), pa.string()))
            self._tables[key] = table
        return self._tables[key]

    def _about(self, folder: RunFolder, challenge: str) -> Description:
        """What the findings say of themselves."""
        try:
            return described(folder.path, self._file(folder, challenge).schema_arrow)
        except (KeyError, TypeError, ValueError) as error:
            raise _unreadable(folder, challenge, error) from error

    def _file(self, folder: RunFolder, challenge: str) -> pq.ParquetFile:
        """The findings' file, whose content is what the run recorded; checked once."""
        key = (str(folder.path), challenge)
        if key not in self._files:
            try:
                path = folder.verify(self._name(folder, challenge))
                self._files[key] = pq.ParquetFile(path, page_checksum_verification=True)
            except (OSError, pa.ArrowException) as error:
                raise _unreadable(folder, challenge, error) from error
        return self._files[key]

    @staticmethod
    def _name(folder: RunFolder, challenge: str) -> str:
        return _file(folder, challenge) or f"findings/{challenge}.parquet"


def _unreadable(folder: RunFolder, challenge: str, error: Exception) -> StorageError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return StorageError(
        f"{folder.path}: its findings of {challenge} cannot be read ({reason}). Delete them, run again."
    )


@dataclass(frozen=True)
class _Frame:
    """The rows of one cell that a statistic needs, as numbers."""

    ids: list[str]
    #: Which text each is drawn with: itself, or the sentence it is a step of.
    texts: list[str]
    columns: list[np.ndarray]
    rows: Rows
    judged: int
    not_judged: int

    @classmethod
    def of(cls, table: pa.Table, rows: Rows, inside: np.ndarray) -> _Frame:
        open_ = pc.is_null(table["not_judged"]).to_numpy() & inside
        columns = []
        for number, column in enumerate(rows.columns):
            if column == "probabilities":
                values = np.array([row[1] for row in table[column].to_pylist()], dtype=np.float64)
            elif pa.types.is_list(table[column].type):
                values = _lists(table[column])
            else:
                values = table[column].cast(pa.float64()).to_numpy(zero_copy_only=False).copy()
            if rows.fill is not None and number == 0:
                values[np.isnan(values)] = rows.fill
            values[~open_] = np.nan
            columns.append(values)
        if rows.classes:
            columns = [np.where(np.isnan(values), -1, values) for values in columns]
        whole = np.all([values != -1 if rows.classes else _there(values) for values in columns], axis=0)
        judged = int(whole.sum())
        ids, texts = (table[name if name in table.column_names else "id"].to_pylist() for name in ("id", "sentence"))
        return cls(ids, texts, columns, rows, judged, int(inside.sum()) - judged)


def _lists(column: pa.ChunkedArray) -> np.ndarray:
    """Lists of one length as an array [row, entry]; a list that is not there is not a number."""
    rows = column.to_pylist()
    width = max((len(row) for row in rows if row is not None), default=0)
    return np.array([[math.nan] * width if row is None else row for row in rows], dtype=np.float64)


def _add(sums: np.ndarray, where: np.ndarray, values: np.ndarray) -> None:
    """Counts of every text summed over its rows: one for every draw of its weights."""
    known = _there(values)
    sums[where[known]] = 0.0
    np.add.at(sums, where[known], values[known])


def _there(values: np.ndarray) -> np.ndarray:
    return np.asarray(~np.isnan(values).any(tuple(range(1, values.ndim))))


def _declared(about: Description, rule: MeasureRule, measure: str) -> Measure:
    """The findings' own measure of this name, or the rule's column."""
    if not measure:
        return Measure("", rule.column, "mean", "")
    for declared in about.measures:
        if declared.name == measure:
            return declared
    raise InputError(f"Findings of {about.challenge!r} have no measure {measure!r}: they are of another version.")


def _spread(values: np.ndarray) -> float:
    """The standard deviation over instances, averaged over seeds."""
    each = [row[np.isfinite(row)] for row in values]
    deviations = [float(row.std(ddof=1)) for row in each if len(row) > 1]
    return float(np.mean(deviations)) if deviations else math.nan

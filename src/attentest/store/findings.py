"""Findings: per-instance rows of one challenge, and the measures that may be computed from them.

Every findings file describes itself: its Parquet metadata names the challenge and lists its measures,
so a summary, a report or a query needs no code of the challenge that wrote it. Where rows are steps of writing, the
column ``sentence`` says which sentence each belongs to: intervals draw whole sentences.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from attentest.errors import StorageError, UnknownName

__all__ = ["FORMAT", "Description", "Findings", "FindingsWriter", "Measure", "Statistic", "described", "read_findings"]

_KEY = b"attentest"
#: The version of the format, kept in the metadata. 2: ``parameters``, and ``sentence`` where rows are steps of writing.
FORMAT = 2
#: What becomes of a column. "fraction": how many are true; "share": the mean of shares, both written in per cent;
#: "ratio": the column's sum over the sum of ``against``; "bleu": of summed counts; "bleu_change": less the BLEU of
#: ``against``; "information": the mutual information of the labels in the column's lists and in those of ``against``;
#: "whole": one number of a corpus, the same in every row, ``against`` its standard error.
Statistic = Literal["mean", "share", "fraction", "ratio", "bleu", "bleu_change", "information", "whole"]


@dataclass(frozen=True)
class Measure:
    """A number computed from one column, or two, over the judged rows, in words a reader understands."""

    name: str
    column: str
    statistic: Statistic
    words: str
    where: Mapping[str, str] = field(default_factory=dict)
    against: str = ""
    #: Rows with one value of this column are one text: an interval draws them together.
    together: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that it needs."""
        return tuple(column for column in (self.column, self.against, self.together) if column)


@dataclass(frozen=True)
class Description:
    """What findings say of themselves: the challenge as text, its measures, and its parameters, defaults included."""

    challenge: str
    measures: tuple[Measure, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Findings:
    """The rows of one challenge, with its identity, its measures and its parameters, defaults included."""

    challenge: str
    measures: tuple[Measure, ...]
    table: pa.Table
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The challenge's name, without its parameters."""
        return self.challenge.partition("(")[0]

    def rows(self, where: Mapping[str, str] | None = None) -> pa.Table:
        """The rows that satisfy equalities such as ``{"pair": "attention~gradient"}``."""
        table = self.table
        for column, value in (where or {}).items():
            table = table.filter(pa.compute.equal(table[column], value))
        return table

    def __getitem__(self, name: str) -> Measure:
        for measure in self.measures:
            if measure.name == name:
                return measure
        raise UnknownName(f"measure of {self.challenge!r} in these findings", name, [m.name for m in self.measures])


class FindingsWriter:
    """Writes findings row group by row group, so memory stays flat however many instances there are."""

    def __init__(
        self, path: Path, challenge: str, measures: tuple[Measure, ...], parameters: Mapping[str, Any] | None = None
    ) -> None:
        self._path = path
        self._challenge, self._measures, self._parameters = challenge, measures, parameters or {}
        self._writer: pq.ParquetWriter | None = None

    def write(self, table: pa.Table) -> None:
        """Append one row group; measures of columns that these findings do not have are left out."""
        if self._writer is None:
            measures = [asdict(m) for m in self._measures if {*m.columns} <= {*table.column_names}]
            about = {"challenge": self._challenge, "measures": measures, "parameters": dict(self._parameters)}
            schema = table.schema.with_metadata({_KEY: json.dumps({"format": FORMAT, **about}, default=str).encode()})
            self._writer = pq.ParquetWriter(self._path, schema, compression="zstd", write_page_checksum=True)
        self._writer.write_table(table.cast(self._writer.schema))

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def __enter__(self) -> FindingsWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def described(path: Path, schema: pa.Schema) -> Description:
    """What the findings in a file say of themselves, by its schema; those of another format are refused.

    Raises KeyError, TypeError or ValueError where it says nothing that can be read.
    """
    about: dict[str, Any] = json.loads(schema.metadata[_KEY])
    if (found := about.get("format", 1)) != FORMAT:
        raise StorageError(
            f"Findings {path} are of format {found}, and this attentest reads format {FORMAT}. "
            "Run the same command again to compute them anew."
        )
    measures = tuple(Measure(**entry) for entry in about["measures"])
    return Description(about["challenge"], measures, about["parameters"])


def read_findings(path: Path, without: Sequence[str] = ()) -> Findings:
    """Findings from a Parquet file, with page checksums verified; columns may be left out."""
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
        about = described(path, file.schema_arrow)
        kept = [name for name in file.schema_arrow.names if name not in without] if without else None
        return Findings(about.challenge, about.measures, file.read(columns=kept), about.parameters)
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StorageError(
            f"Findings {path} cannot be read ({reason}). Delete the file and run the audit again to recompute it."
        ) from error

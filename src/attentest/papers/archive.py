"""Findings that last: what a paper's claims need of its runs, in one file from which anyone can compute them again.

A zip of run folders as claims read them: every run's record, and of its findings the columns and rows that some claim
reads. Values are kept bit by bit. Of a file that was cut, the record says the sha256 of what is here, and that of the
whole one (``whole``).
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attentest.data.files.given import refuse_endless
from attentest.data.sources.unpack import unpack
from attentest.errors import InputError, StorageError, line_of
from attentest.memory import at_most
from attentest.papers.evidence import Cell, Evidence, Read
from attentest.papers.headline import headline
from attentest.papers.outcomes import evaluate
from attentest.store.atomic import replacing
from attentest.store.folder import RunFolder
from attentest.store.sealed import sealed
from attentest.studies.record import STUDIES, FinishedCell, finished_cells, recorded

__all__ = ["ARCHIVE", "Kept", "archived", "write_archive"]

#: The archive in a paper's folder.
ARCHIVE = "findings.zip"
#: Bytes of an archive; the cells of one of its tables; and bytes that reading and comparing all of it may take.
LARGEST, MOST_CELLS, MEMORY = 1 << 32, 10_000_000, 8 << 30
#: What findings raise that are sealed and whole, and of other types than attentest writes.
UNUSABLE = (
    *(pa.ArrowException, ValueError, TypeError, LookupError, AttributeError, ArithmeticError),
    *(SyntaxError, AssertionError, RecursionError),
)
#: The same findings give the same bytes, whenever they are packed.
NO_DATE = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Kept:
    """What went into an archive."""

    runs: int
    files: int
    rows: int
    bytes: int


def write_archive(path: Path, paper: str, cells: Sequence[Cell]) -> Kept:
    """Keep what the claims of a paper read of these cells."""
    if not cells:
        raise InputError(f"There are no runs of {paper} to keep: attentest reproduce {paper} makes them.")
    evidence = Evidence()
    evaluate(paper, cells, evidence)
    headline(paper, cells, evidence)
    ordered = sorted(cells, key=lambda cell: cell.folder.path.name)
    listed = [{"choices": dict(cell.choices), "run": cell.folder.path.name} for cell in ordered]
    study = {"study": paper, "paper": paper, "cells": listed}
    files = rows = 0
    with replacing(path) as temporary:
        with zipfile.ZipFile(temporary, "w") as file:
            _put(file, f"{STUDIES}/{paper}.json", json.dumps(study, indent=1, default=list).encode())
            for folder in {cell.folder.path.name: cell.folder for cell in ordered}.values():
                record = folder.record
                for name, read in _read_of(evidence, folder):
                    table, packed = _cut(folder, name, read)
                    entry = record["finished"][name]
                    # Runs may themselves come from an archive: what was whole then is whole still.
                    record["finished"][name] = (
                        {"whole": entry["sha256"]} | entry | {"sha256": sha256(packed).hexdigest()}
                    )
                    _put(file, f"{folder.path.name}/{name}", packed)
                    files, rows = files + 1, rows + table
                _put(file, f"{folder.path.name}/run.json", sealed(record).encode())
        size = temporary.stat().st_size
    return Kept(len({cell.folder.path.name for cell in cells}), files, rows, size)


@contextlib.contextmanager
def archived(path: Path, paper: str) -> Iterator[list[FinishedCell]]:
    """A paper's cells in an archive, or in a folder that one was unpacked to.

    Whoever made it may have sealed anything: what no claim can be computed from is said of the archive, in one line.
    """
    if not path.exists():
        raise InputError(f"There is no file {path}: name an archive that attentest claims PAPER --keep wrote.")
    with tempfile.TemporaryDirectory(prefix="attentest-") as temporary:
        folder = path if path.is_dir() else Path(temporary)
        with _said_of(path, folder), at_most(MEMORY):
            if folder != path:
                refuse_endless(path, LARGEST)
                unpack(path, folder)
            cells = finished_cells(folder, paper)
            if folder != path:
                _refuse_lacking(folder, paper)
            if not cells:
                papers = sorted({str(record.get("paper")) for record in recorded(folder)} - {paper})
                holds = f"it has those of {', '.join(papers)}" if papers else "it is no archive of claims"
                raise InputError(f"{path} has no findings of {paper}: {holds}.")
            for cell in cells:
                _refuse_large(cell.folder)
            yield cells


@contextlib.contextmanager
def _said_of(path: Path, folder: Path) -> Iterator[None]:
    """What is wrong inside is said of the archive: the folder that it was unpacked to is gone by then."""
    again = f"Get {path} again, or make it anew: attentest claims PAPER --keep FILE."
    try:
        with np.errstate(over="raise", invalid="raise"):
            yield
    except (InputError, StorageError) as error:
        if folder == path or str(folder) not in str(error):
            raise
        said = str(error).replace(f"{folder}/", "").partition(". ")[0].rstrip(".")
        raise StorageError(f"{path}: {said}. {again}") from error
    except UNUSABLE as error:
        raise StorageError(
            f"{path} holds what no claim can be computed from ({line_of(error)[:200]}). {again}"
        ) from error


def _refuse_lacking(folder: Path, paper: str) -> None:
    """Refuse an archive that lists a run and lacks it: its claims would pass for not run."""
    for record in recorded(folder):
        for cell in record["cells"] if record.get("paper") == paper else ():
            run = RunFolder(folder / str(cell["run"]))
            if not (run.path / "run.json").is_file() or not run.challenges:
                raise StorageError(f"{folder}/study lists the run {cell['run']} and lacks its findings")


def _refuse_large(folder: RunFolder) -> None:
    """Refuse tables of more cells than anybody's findings have, before memory is taken for them."""
    for name in folder.challenges:
        file = folder.path / "findings" / f"{name}.parquet"
        try:
            about = pq.read_metadata(file)
        except (OSError, pa.ArrowException):
            continue  # whoever reads it says so
        if about.num_rows * about.num_columns > MOST_CELLS:
            raise StorageError(
                f"{file} has {about.num_rows:,} rows of {about.num_columns:,} columns, and "
                f"{MOST_CELLS:,} cells are the most"
            )


def _read_of(evidence: Evidence, folder: RunFolder) -> Iterator[tuple[str, Read]]:
    found = {name: read for (one, name), read in evidence.read.items() if one.path == folder.path}
    yield from sorted(found.items())


def _cut(folder: RunFolder, name: str, read: Read) -> tuple[int, bytes]:
    """The rows and the bytes of what was read of a file; one that is no table is kept whole."""
    path = folder.verify(name)
    if path.suffix != ".parquet":
        return 0, path.read_bytes()
    schema = pq.read_schema(path)
    columns = [column for column in schema.names if column in read.columns]
    table = pq.read_table(path, columns=columns)
    table = table.filter(_any(table, read.rows)).replace_schema_metadata(schema.metadata)
    floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    packed = io.BytesIO()
    pq.write_table(
        table,
        packed,
        compression="zstd",
        compression_level=19,
        use_dictionary=[column for column in columns if column not in floats],
        use_byte_stream_split=floats,
        write_page_checksum=True,
    )
    return len(table), packed.getvalue()


def _any(table: pa.Table, rows: Sequence[Mapping[str, str]]) -> pa.ChunkedArray | pa.Array:
    """Which rows some claim reads."""
    if not all(rows):
        return pa.array([True] * len(table), pa.bool_())
    wanted = [
        reduce(pc.and_, (pc.fill_null(pc.equal(table[column], value), False) for column, value in one.items()))
        for one in rows
    ]
    return reduce(pc.or_, wanted)


def _put(file: zipfile.ZipFile, name: str, content: bytes) -> None:
    about = zipfile.ZipInfo(name, NO_DATE)
    about.external_attr = 0o644 << 16
    # Tables are packed already.
    file.writestr(about, content, zipfile.ZIP_STORED if name.endswith(".parquet") else zipfile.ZIP_DEFLATED, 9)

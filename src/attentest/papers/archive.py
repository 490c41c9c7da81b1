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

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from attentest.data.sources.unpack import unpack
from attentest.errors import InputError
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
    """A paper's cells in an archive, or in a folder that one was unpacked to."""
    if not path.exists():
        raise InputError(f"There is no file {path}: name an archive that attentest claims PAPER --keep wrote.")
    with tempfile.TemporaryDirectory(prefix="attentest-") as temporary:
        folder = path if path.is_dir() else Path(temporary)
        if folder != path:
            unpack(path, folder)
        cells = finished_cells(folder, paper)
        if not cells:
            papers = sorted({str(record.get("paper")) for record in recorded(folder)})
            holds = f"it has those of {', '.join(papers)}" if papers else "it is no archive of claims"
            raise InputError(f"{path} has no findings of {paper}: {holds}.")
        yield cells


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

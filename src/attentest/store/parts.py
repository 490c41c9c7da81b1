"""Findings that are not complete yet: what the batches so far gave, kept so that a killed examination resumes.

    findings/unfinished/<challenge>/<chunk>-<checksum>.arrow

A file holds the rows of some batches of one chunk; it is written whole, and its name holds the beginning of its sha256.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from attentest.store.atomic import make_folder, replacing
from attentest.store.regular import content

__all__ = ["Parts"]

_BATCHES, _LAYOUT = b"batches", b"layout"


class Parts:
    """One challenge's findings batch by batch; a batch is known by its chunk and its number there.

    ``layout`` names how texts are cut into batches: files of another layout are of other batches, and go.
    """

    def __init__(self, folder: Path, layout: str, say: Callable[[str], None] = lambda line: None) -> None:
        self._folder, self._layout = folder, layout
        self._files: dict[int, list[Path]] = defaultdict(list)
        self._pending: dict[int, dict[int, pa.Table]] = defaultdict(dict)
        self._done: dict[tuple[int, int], int] = {}
        for path in sorted(folder.glob("*.arrow")):
            data = b""
            with contextlib.suppress(OSError):  # a pipe, say, in the place of a part
                data = content(path)
            if path.stem.partition("-")[2] != _digest(data):
                say(f"{path} was altered after it was written; its texts are examined again.")
            elif (about := _about(data))[_LAYOUT] == layout.encode():
                chunk = int(path.stem.partition("-")[0])
                self._files[chunk].append(path)
                self._done |= {(chunk, int(batch)): texts for batch, texts in json.loads(about[_BATCHES]).items()}
                continue
            path.unlink()

    @property
    def texts(self) -> int:
        """How many texts have been examined."""
        return sum(self._done.values())

    def has(self, chunk: int, batch: int) -> bool:
        """Whether the batch has been examined."""
        return (chunk, batch) in self._done

    def add(self, chunk: int, batch: int, table: pa.Table, texts: int) -> None:
        """What a batch of so many texts gave; on disk only after ``keep``."""
        self._pending[chunk][batch] = table
        self._done[chunk, batch] = texts

    def keep(self) -> None:
        """Write what was added since the last time."""
        for chunk, tables in self._pending.items():
            rows = pa.concat_tables(tables.values())
            texts = {batch: self._done[chunk, batch] for batch in sorted(tables)}
            about = {_BATCHES: json.dumps(texts), _LAYOUT: self._layout}
            sink = pa.BufferOutputStream()
            with pa.ipc.new_file(sink, rows.schema.with_metadata(about)) as writer:
                writer.write_table(rows)
            data = sink.getvalue().to_pybytes()
            make_folder(self._folder)
            path = self._folder / f"{chunk}-{_digest(data)}.arrow"
            with replacing(path) as temporary:
                temporary.write_bytes(data)
            self._files[chunk].append(path)
        self._pending.clear()

    def rows(self, chunk: int) -> pa.Table:
        """All rows of a chunk, as they came."""
        kept = [pa.ipc.open_file(path.read_bytes()).read_all().replace_schema_metadata() for path in self._files[chunk]]
        return pa.concat_tables([*kept, *self._pending[chunk].values()])

    def forget(self) -> None:
        """The findings are complete elsewhere: nothing is left."""
        shutil.rmtree(self._folder, ignore_errors=True)
        with contextlib.suppress(OSError):
            self._folder.parent.rmdir()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def _about(data: bytes) -> dict[bytes, bytes]:
    return dict(pa.ipc.open_file(data).schema.metadata)

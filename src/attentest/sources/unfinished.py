"""What an audit that was cut short has found so far: a line for every question, each with its own sum."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from attentest.sources.judging.checked import record_of
from attentest.sources.judging.record import Record
from attentest.store.atomic import replacing

__all__ = ["appending", "unfinished"]


@contextlib.contextmanager
def appending(path: Path, *, keep: bool) -> Iterator[Callable[[Record], None]]:
    """A file that every record is written to as soon as it is there."""
    with path.open("ab" if keep else "wb") as handle:

        def write(record: Record) -> None:
            line = record.to_json().encode()
            handle.write(_sum(line) + b" " + line + b"\n")
            handle.flush()
            os.fsync(handle.fileno())

        yield write


def unfinished(path: Path, say: Callable[[str], None] = lambda line: None) -> dict[str, Record]:
    """The records in such a file; what was cut short or altered is taken out, and its questions are asked again."""
    if not path.exists():
        return {}
    if not path.is_file():
        say(f"{path} was altered: it is no file. Its questions are asked again.")
        path.unlink()
        return {}
    found, good = {}, []
    content = path.read_bytes()
    lines = content.split(b"\n")
    for line in lines[:-1]:
        told, _, record = line.partition(b" ")
        if told == _sum(record):
            one = record_of(record.decode())
            found[one.id] = one
            good.append(line + b"\n")
    if len(good) < len(lines) - 1:
        say(f"{path} was altered after it was written; its questions are asked again.")
    if b"".join(good) != content:
        with replacing(path) as temporary:
            temporary.write_bytes(b"".join(good))
    return found


def _sum(line: bytes) -> bytes:
    return hashlib.sha256(line).hexdigest()[:32].encode()

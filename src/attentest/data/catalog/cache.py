"""The cache folder, and what it remembers of files too large to read every time."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import zlib
from pathlib import Path
from typing import NamedTuple

import platformdirs

from attentest.data.files.unfinished import part_of
from attentest.errors import InputError

__all__ = ["FileSum", "cache_folder", "sum_of"]


class FileSum(NamedTuple):
    """A file of rows: its sha256 and how many rows it holds."""

    sha256: str
    rows: int


def cache_folder() -> Path:
    """The folder named by ATTENTEST_CACHE, else the user's cache folder for attentest."""
    named = os.environ.get("ATTENTEST_CACHE")
    return Path(named).expanduser() if named else Path(platformdirs.user_cache_dir("attentest"))


def sum_of(path: Path) -> FileSum:
    """The sum of a .jsonl.gz file, computed again only when its size or its time of change differs."""
    path = path.resolve()
    state = path.stat()
    remembered = cache_folder() / "sums" / f"{hashlib.sha256(str(path).encode()).hexdigest()[:24]}.json"
    key = [str(path), state.st_size, state.st_mtime_ns]
    with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
        known = json.loads(remembered.read_text(encoding="utf-8"))
        if known["file"] == key:
            return FileSum(str(known["sha256"]), int(known["rows"]))
    found = computed_sum(path)
    # A sum that cannot be kept is computed again next time: no reason to stop.
    with contextlib.suppress(OSError):
        remembered.parent.mkdir(parents=True, exist_ok=True)
        temporary = part_of(remembered)
        with temporary.open("x", encoding="utf-8") as file:
            json.dump({"file": key, **found._asdict()}, file)
        temporary.replace(remembered)
    return found


def computed_sum(path: Path) -> FileSum:
    try:
        with path.open("rb") as handle:
            sha256 = hashlib.file_digest(handle, "sha256").hexdigest()
        with gzip.open(path) as lines:
            rows = sum(1 for line in lines if line.strip())
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} is not a whole gzip file ({error}): get or copy it again.") from error
    return FileSum(sha256, rows)

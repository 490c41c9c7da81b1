"""Names for what is being written: by them, what a killed process left is known, and taken away."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import platform
import secrets
import shutil
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = ["part_of", "sweep"]

#: What this process is writing, or has written.
_OWN: set[Path] = set()
#: This machine, or container: numbers of processes mean nothing on another.
_HERE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
#: Seconds after which nobody writes a file any more, whoever has the number of its process today.
ABANDONED = 86_400.0


def part_of(target: Path) -> Path:
    """A name beside the target, nobody else's, for a file or folder that is to become it.

    What processes that are gone left of earlier tries goes.
    """
    _sweep(target.parent.glob(f".{glob.escape(target.name)}.*.part"))
    part = target.with_name(f".{target.name}.{_HERE}.{os.getpid()}.{secrets.token_hex(6)}.part")
    _OWN.add(part.absolute())
    return part


def sweep(folder: Path) -> None:
    """Take away what processes that are gone left half-written in the folder, however deep."""
    _sweep(folder.rglob(".*.part"))


def _sweep(parts: Iterable[Path]) -> None:
    for left in list(parts):
        *_, host, process, _, _ = ["", "", *left.name.split(".")]
        with contextlib.suppress(OSError):
            if not (process.isdecimal() and len(host) == len(_HERE)):
                continue
            if not _written(left, int(process) if host == _HERE else None):
                if left.is_dir() and not left.is_symlink():
                    shutil.rmtree(left, ignore_errors=True)
                else:
                    left.unlink()


def _written(left: Path, process: int | None) -> bool:
    """Whether its process is still writing it; numbers of processes are used again, in containers soon."""
    if process == os.getpid():
        return left.absolute() in _OWN
    return (process is None or _alive(process)) and time.time() - left.lstat().st_mtime < ABANDONED


def _alive(process: int) -> bool:
    """Whether this process is running; one of another user is."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True

"""Whole files or none: written to a temporary name beside the target, then renamed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from attentest.data.files.unfinished import part_of
from attentest.errors import StorageError
from attentest.store.regular import opened

__all__ = ["checksum", "make_folder", "replacing", "write_text"]


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A temporary path that becomes ``target`` when the block ends well, and vanishes when it does not.

    What a process that was killed left of an earlier try to write the same file goes, too.
    """
    if target.is_dir():
        raise StorageError(f"Cannot write {target}: it is a folder. Name a file, such as {target / 'out'}.")
    if target.exists() and not target.is_file():
        # To rename onto it would put a file in the place of /dev/null for everybody.
        raise StorageError(f"Cannot write {target}: it is a device or a pipe. Name a file.")
    temporary = part_of(target)
    try:
        # Made here and nowhere else: neither a file nor a link that somebody put there is opened.
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0), 0o666))
        yield temporary
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        temporary.replace(target)
    except OSError as error:
        raise StorageError(f"Cannot write {target}: {error.strerror or error}. {_advice(error, target)}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _advice(error: OSError, target: Path) -> str:
    """What would help."""
    if not target.parent.is_dir():
        return f"There is no folder {target.parent}: make it, or choose another."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Free space, or choose another folder."
    return "Choose a folder that you may write to."


def write_text(target: Path, text: str) -> None:
    """Write text to a file, whole or not at all."""
    with replacing(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def make_folder(path: Path) -> None:
    """Create a folder and make sure that it can be written to."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"Cannot create the folder {path}: {error.strerror or error}. Choose another folder of runs (--runs)."
        ) from error
    if not os.access(path, os.W_OK):
        raise StorageError(f"No permission to write in {path}. Choose another folder of runs (--runs).")


def checksum(path: Path) -> str:
    """The file's sha256; of a pipe or a device, an OSError."""
    with opened(path) as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()

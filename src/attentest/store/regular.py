"""Files that end: what stands in a file's place and may never end is not waited for."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

__all__ = ["ENDLESS", "content", "opened"]

ENDLESS = "it is no file but a pipe or a device"


def opened(path: Path) -> BufferedReader:
    """The file, to be read; a pipe or a device is an OSError, and is not waited for."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(handle).st_mode
    if not stat.S_ISREG(mode):
        os.close(handle)
        kind = (errno.EISDIR, os.strerror(errno.EISDIR)) if stat.S_ISDIR(mode) else (errno.EINVAL, ENDLESS)
        raise OSError(*kind, str(path))
    return os.fdopen(handle, "rb")


def content(path: Path) -> bytes:
    """What the file holds; of a pipe, a device or a folder, an OSError."""
    with opened(path) as file:
        return file.read()

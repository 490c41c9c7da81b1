"""A file that somebody names is read whole where it is a file, and of a size that its kind may have."""

from __future__ import annotations

import stat
from pathlib import Path

from attentest.errors import InputError

__all__ = ["bytes_of_given", "refuse_endless"]


def bytes_of_given(path: Path, most: int) -> bytes:
    """Its bytes; pipes and devices, which may never end, and what is larger than ``most`` bytes are refused.

    What the system refuses is an OSError, for the caller to name.
    """
    refuse_endless(path, most)
    with path.open("rb") as file:
        return file.read(most + 1)


def refuse_endless(path: Path, most: int) -> None:
    """Refuse pipes and devices, which may never end, and what is larger than ``most`` bytes."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode) and not stat.S_ISDIR(about.st_mode):
        raise InputError(f"{path} is no file but a pipe or a device: write what it gives to a file, and name that.")
    if about.st_size > most:
        raise InputError(f"{path} is larger than {most >> 20} MB, which is the most. Give a part of it.")

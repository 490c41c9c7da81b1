"""A format: how scores are read from a file, and how they are written to one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from attentest.errors import InputError
from attentest.memory import at_most
from attentest.store.scores import Scores, Texts

__all__ = ["PICKLES", "Format", "present"]

#: Bytes that reading a file of scores may take.
MEMORY = 4 << 30
#: Endings of files that hold Python objects: opening one can run any code.
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".bin", ".ckpt")


@dataclass(frozen=True)
class Format:
    """One tool's files of scores."""

    name: str
    summary: str
    endings: tuple[str, ...]
    #: From a file and the run's texts to scores by id; whether they fit the texts is checked afterwards.
    read: Callable[[Path, Texts], Mapping[str, np.ndarray]]
    write: Callable[[Path, Scores], None]

    def scores(self, path: Path, texts: Texts) -> Mapping[str, np.ndarray]:
        """What ``read`` finds, within bounds of memory."""
        try:
            with at_most(MEMORY), np.errstate(all="ignore"):
                return self.read(path, texts)
        except MemoryError as error:
            raise InputError(
                f"{path.name} takes more than {MEMORY >> 30} GB of memory to read, as scores of this run's "
                f"{len(texts.ids):,} texts do not. Write it again."
            ) from error


def present(path: Path) -> None:
    """Refuse a file that is not there, or has nothing in it."""
    if not path.is_file():
        raise InputError(f"There is no file at {path}. Check the path.")
    if not path.stat().st_size:
        raise InputError(f"{path.name} is empty: it holds no scores.")

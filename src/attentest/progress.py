"""Progress as a seam: the engines report through it, the terminal (or nothing) listens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Protocol

__all__ = ["EXAMINING", "SILENT", "Progress", "Silent", "Tick"]

#: The name of threads that may be left at work when a person interrupts: nobody waits for them.
EXAMINING = "examining"


class Tick(Protocol):
    """Advance by some units of work, with figures worth showing."""

    def __call__(self, units: int = 1, *, left: float | None = None, **figures: float | str) -> None:
        """Say that ``units`` more are done and, where that is known better than by their share, the seconds left."""


class Progress(Protocol):
    """Something that shows stages of known size."""

    def stage(self, description: str, total: int) -> AbstractContextManager[Tick]:
        """A stage of ``total`` units."""

    def say(self, line: str) -> None:
        """A line worth reading."""


class Silent:
    """Shows nothing."""

    @contextlib.contextmanager
    def stage(self, description: str, total: int) -> Iterator[Tick]:
        """A stage nobody watches."""
        yield lambda units=1, *, left=None, **figures: None

    def say(self, line: str) -> None:
        """Say nothing."""


SILENT = Silent()

"""A source is a place a corpus can be had from, as a frozen value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from attentest.progress import SILENT, Progress

__all__ = ["Source"]


class Source(ABC):
    """Somewhere that holds the official files."""

    @abstractmethod
    def describe(self) -> str:
        """One line for a person: what and where."""

    @abstractmethod
    def fetch(self, target: Path, progress: Progress = SILENT) -> Path:
        """Bring the official files into ``target`` and give the folder that holds them; resumable, checked."""

"""The user's own folder in the official format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from attentest.data.sources.source import Source
from attentest.errors import InputError
from attentest.progress import SILENT, Progress

__all__ = ["Folder"]


@dataclass(frozen=True)
class Folder(Source):
    """A folder that holds the official files, or the one folder that an archive unpacks to."""

    path: Path

    def describe(self) -> str:
        """Its path."""
        return f"folder {self.path}"

    def fetch(self, target: Path, progress: Progress = SILENT) -> Path:
        """The folder itself: nothing is copied."""
        if not self.path.exists():
            raise InputError(f"{self.path} does not exist: check the path given with --from.")
        if not self.path.is_dir():
            raise InputError(f"{self.path} is a file: unpack it, and give the folder that holds its files with --from.")
        if not any(self.path.iterdir()):
            raise InputError(f"{self.path} is empty: give the folder that holds the official files with --from.")
        return self.path

"""The studies that are served, each opened once and shared by all threads."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from attentest.errors import UnknownName
from attentest.people.study import RECORD, PeopleStudy, studies_in

__all__ = ["PeopleStudies"]


class PeopleStudies:
    """Those of a folder, or some by their folders; a study is named by its name in this list, never by a path."""

    def __init__(self, root: Path, folders: Sequence[Path] = ()) -> None:
        self.root, self.folders = root, tuple(folders)
        self._open: dict[str, tuple[tuple[int, int], PeopleStudy]] = {}
        self._lock = threading.Lock()

    def paths(self) -> dict[str, Path]:
        """By name, the folders of all studies that are served."""
        return {path.name: path for path in self.folders or studies_in(self.root)}

    def named(self, name: str) -> PeopleStudy:
        """A study by its name; one that was made anew under an old name is opened anew."""
        path = self.paths().get(name)
        if path is None:
            raise UnknownName("study of people", name[:80], self.paths() or ["(none)"])
        file = (path / RECORD).stat()
        made = file.st_ino, file.st_mtime_ns
        with self._lock:
            known = self._open.get(name)
            if known is None or known[0] != made:
                self._open[name] = made, PeopleStudy(path)
            return self._open[name][1]

    def close(self) -> None:
        """Let all files of answers go."""
        with self._lock:
            for _, study in self._open.values():
                study.close()
            self._open.clear()

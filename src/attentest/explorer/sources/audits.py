"""The audits of sources that are served: which there are, and what each found, judged once while it does not change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attentest.errors import AttentestError, StorageError, UnknownName, line_of
from attentest.explorer.data.files import Kept
from attentest.store.folder import RunFolder
from attentest.store.sources import CASES, is_sources

if TYPE_CHECKING:
    from attentest.sources.auditing import SourcesAudit

__all__ = ["SourceAudits"]

Row = dict[str, Any]
#: Audits whose records are kept in memory.
HELD = 8


class SourceAudits:
    """Those of some folders. An audit is named by its id, which must be in the list: it is never a path."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.roots = tuple(dict.fromkeys(roots))
        self._found, self._counts = Kept(HELD), Kept(1_000)

    def paths(self) -> dict[str, Path]:
        """By id, the folders of all audits, the one touched last first."""
        there = [path.parent for root in self.roots for path in root.glob("*/run.json") if is_sources(path.parent)]
        there.sort(key=lambda folder: (folder / "run.json").stat().st_mtime, reverse=True)
        found: dict[str, Path] = {}
        for folder in there:
            found.setdefault(folder.name, folder)
        return found

    def any(self) -> bool:
        """Whether there is one."""
        return any(is_sources(path.parent) for root in self.roots for path in root.glob("*/run.json"))

    def named(self, name: str) -> SourcesAudit:
        """What an audit found; torch is loaded by the first that is opened."""
        path = self._path(name)
        return self._found.get((path, _stamp(path)), lambda: _judged(path))

    def folder(self, name: str) -> RunFolder:
        """The folder of an audit."""
        return RunFolder(self._path(name))

    def listed(self) -> list[Row]:
        """Every audit as far as it can be told without judging it; ``headline`` is null until somebody opened it."""
        return [self._row(name, path) for name, path in self.paths().items()]

    def _path(self, name: str) -> Path:
        found = self.paths()
        if name not in found:
            raise UnknownName("audit of sources", name[:80], [*found][:20] or ["(none)"])
        return found[name]

    def _row(self, name: str, path: Path) -> Row:
        made = datetime.fromtimestamp((path / "run.json").stat().st_mtime, UTC).isoformat(timespec="seconds")
        about: Row = {"id": name, "made": made, "model": "", "questions": 0, "finished": False, "headline": None}
        try:
            folder = RunFolder(path)
            record = folder.record
            finished = CASES in record["finished"]
            many = self._counts.get((path, _stamp(path)), lambda: _lines(folder.verify(CASES))) if finished else 0
            about |= {"model": str(record["fields"]["name"]), "finished": finished, "questions": many, "problem": ""}
        except (AttentestError, OSError, KeyError, TypeError) as error:
            return about | {
                "problem": line_of(error) if isinstance(error, AttentestError) else f"{path} cannot be read."
            }
        known = self._found.peek((path, _stamp(path)))
        if known is not None:
            from attentest.sources.showing.words import headline

            about["headline"] = headline(known)
        return about


def _stamp(path: Path) -> tuple[int, int]:
    about = (path / "run.json").stat()
    return about.st_mtime_ns, about.st_size


def _lines(path: Path) -> int:
    with path.open("rb") as handle:
        return sum(1 for _ in handle)


def _judged(path: Path) -> SourcesAudit:
    from attentest.sources.auditing import judged_folder

    try:
        return judged_folder(path)
    except (KeyError, IndexError, TypeError, ValueError, OSError) as error:
        said = f"{path / CASES} does not hold what this version of attentest writes ({type(error).__name__})."
        raise StorageError(f"{said} Run the same command again with --fresh.") from error

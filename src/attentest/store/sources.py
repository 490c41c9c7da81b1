"""Where audits of sources lie, and how a folder is known as one; nothing of it needs torch."""

from __future__ import annotations

from pathlib import Path

from attentest.errors import UnknownName

__all__ = ["CASES", "UNFINISHED", "USUAL", "find_audit", "is_sources"]

#: The file that a finished audit of sources has and a run has not, and the one of an audit that is under way.
CASES, UNFINISHED = "cases.jsonl", ".cases.unfinished"
#: The folder that ``attentest sources`` writes to.
USUAL = Path("sources")


def is_sources(folder: Path) -> bool:
    """Whether a folder holds an audit of sources, finished or not."""
    return (folder / CASES).exists() or (folder / UNFINISHED).exists()


def find_audit(name: str, *roots: Path) -> Path | None:
    """An audit of sources by its folder, its id or the beginning of it; None where there is none of that name."""
    if (Path(name) / "run.json").is_file():
        return Path(name) if is_sources(Path(name)) else None
    every = (path.parent for root in dict.fromkeys((*roots, USUAL)) for path in sorted(root.glob("*/run.json")))
    found = {path.name: path for path in every if name and path.name.startswith(name) and is_sources(path)}
    if len(found) > 1:
        raise UnknownName("single audit of sources", name, list(found))
    return next(iter(found.values()), None)

"""The studies that are built in: one per paper whose experiments this version can run, and others worth running."""

from __future__ import annotations

import tomllib
from pathlib import Path

from attentest.papers import PAPERS

__all__ = ["built_in", "studies_of"]


def built_in() -> dict[str, Path]:
    """The study files by name."""
    files = {name: Path(str(paper.folder / "study.toml")) for name, paper in PAPERS.items()}
    files |= {path.stem: path for path in sorted(Path(__file__).parent.glob("*.toml"))}
    return {name: path for name, path in files.items() if path.is_file()}


def studies_of(paper: str) -> dict[str, Path]:
    """The files of the studies that answer a paper's claims, the one that is called like it first."""
    found = {name: path for name, path in built_in().items() if _paper(path) == paper}
    return dict(sorted(found.items(), key=lambda item: (item[0] != paper, item[0])))


def _paper(path: Path) -> str:
    return str(tomllib.loads(path.read_text("utf-8")).get("paper", ""))

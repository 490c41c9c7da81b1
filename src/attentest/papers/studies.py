"""The studies that are built in: one per paper whose experiments this version can run, and others worth running."""

from __future__ import annotations

from pathlib import Path

from attentest.papers import PAPERS

__all__ = ["built_in"]


def built_in() -> dict[str, Path]:
    """The study files by name."""
    files = {name: Path(str(paper.folder / "study.toml")) for name, paper in PAPERS.items()}
    files |= {path.stem: path for path in sorted(Path(__file__).parent.glob("*.toml"))}
    return {name: path for name, path in files.items() if path.is_file()}

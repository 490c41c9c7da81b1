"""The studies that are built in: those of papers, and others worth running."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import attentest.studies
from attentest.papers import PAPERS
from attentest.papers.checked import tables

__all__ = ["built_in"]


def built_in() -> dict[str, Path]:
    """The study files by the name that each gives itself."""
    others = sorted(Path(attentest.studies.__path__[0], "built_in").glob("*.toml"))
    files = (*chain.from_iterable(paper.studies() for paper in PAPERS.values()), *others)
    return {str(tables(path.read_text("utf-8"), str(path)).get("name", path.stem)): path for path in files}

"""The papers: what each one printed, what it concluded, and how both are compared with runs; no torch.

A paper is a folder: ``paper.toml`` says what it is, ``claims.csv`` holds its figures, ``claims.toml`` how they are
compared, ``study*.toml`` the studies that answer them, ``reproduced.csv`` and ``headline.csv`` what came out,
``figures.py`` the figures that are its own, ``page.md`` what the documentation says of it. A folder here is found;
another package names its own in the entry point group ``attentest.papers``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from attentest.papers.checked import built, tables
from attentest.registry import Table

__all__ = ["PAPERS", "Paper", "paper_in"]

ABOUT = "paper.toml"


@dataclass(frozen=True)
class About:
    """What paper.toml says."""

    title: str
    citation: str
    year: int
    conclusion: str


@dataclass(frozen=True)
class Paper(About):
    """One paper, named like its folder."""

    folder: Path
    #: The folder as Python imports it.
    package: str

    @property
    def name(self) -> str:
        """What the command line calls it."""
        return self.folder.name

    def text(self, file: str) -> str | None:
        """What a file of its folder holds; None where there is none."""
        path = self.folder / file
        return path.read_text("utf-8") if path.is_file() else None

    def studies(self) -> list[Path]:
        """The files of the studies that answer its claims, the one that is called like it first."""
        return sorted(self.folder.glob("study*.toml"))


def paper_in(folder: Path, package: str = "") -> Paper:
    """The paper of a folder."""
    file = f"papers/{folder.name}/{ABOUT}"
    about = built(About, tables((folder / ABOUT).read_text("utf-8"), file), file, "the file")
    return Paper(**vars(about), folder=folder, package=package)


def _of_package(module: ModuleType) -> Paper:
    """The paper whose folder another package names."""
    return paper_in(Path(module.__path__[0]), module.__name__)


def _found() -> dict[str, Paper]:
    """The papers of attentest itself, by year."""
    here = [
        paper_in(file.parent, f"{__name__}.{file.parent.name}") for file in Path(__file__).parent.glob(f"*/{ABOUT}")
    ]
    return {paper.name: paper for paper in sorted(here, key=lambda paper: (paper.year, paper.name))}


PAPERS: Table[Paper] = Table("paper", _found, made_of=_of_package)

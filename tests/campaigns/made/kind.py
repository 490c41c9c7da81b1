"""A kind of input: what all its cases share, and how one case is drawn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import ClassVar

__all__ = ["Case", "Kind"]


@dataclass(frozen=True)
class Case:
    """A command to run, and what to say of it where it fails."""

    what: str
    #: The command line's arguments, or a function that does what a command would.
    command: tuple[str, ...] | Callable[[], None]
    #: Files that it may leave, by the beginning of their paths, when it is refused.
    may_leave: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    #: Whether the run is computed, too, and not only described.
    whole: bool = False
    #: Exit codes that are answers.
    codes: tuple[int, ...] = (0, 2)
    #: A folder of the case whose files stay as they are, whatever is asked; new ones may be added.
    kept: str = ""
    #: Whether it runs in a process of its own, whatever its kind's share of these is.
    alone: bool = False
    #: Whether nobody reads what it prints.
    unread: bool = False


class Kind(ABC):
    """One kind of input."""

    name: ClassVar[str]
    #: How many of a hundred cases.
    share: ClassVar[int]
    #: One of so many cases runs in a fresh process, imports, end and all, and not in a fork of the campaign's.
    fresh: ClassVar[int] = 400

    def prepare(self, shared: Path) -> None:  # noqa: B027 - some need nothing
        """Make once what all cases share."""

    @abstractmethod
    def case(self, draw: Random, folder: Path) -> Case:
        """Draw a case; its files are written to the folder."""

"""The terminal: progress bars with figures and time left, one console for everything a person reads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.text import Text

from attentest.progress import Tick

__all__ = ["Terminal"]


class Terminal:
    """Shows stages as progress bars on standard error, so that standard output stays clean."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.console = Console(stderr=True, quiet=quiet, highlight=False)

    @contextlib.contextmanager
    def stage(self, description: str, total: int) -> Iterator[Tick]:
        """One bar, with the latest figures behind it."""
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[figures]}", markup=False),
        )
        shown: dict[str, float | str] = {}
        with Bars(*columns, console=self.console, disable=self.quiet, transient=False) as bars:
            task = bars.add_task(f"{description:<9}", total=total, figures="")

            def tick(units: int = 1, **figures: float | str) -> None:
                shown.update(figures)
                text = "  ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in shown.items())
                bars.update(task, advance=units, figures=text)

            yield tick
            if not bars.tasks[0].finished:
                bars.update(task, total=bars.tasks[0].completed)

    def say(self, line: str) -> None:
        """A line worth reading; strangers' brackets are not markup."""
        self.console.print(Text(line))

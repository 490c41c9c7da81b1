"""The terminal: progress bars with figures and time left, one console for everything a person reads.

Where there is no terminal (a file, a pipe), a line every half a minute and one when a stage ends.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.text import Text

from attentest.durations import in_words
from attentest.printing import Printer
from attentest.progress import Tick

__all__ = ["LINE_SECONDS", "Terminal"]

#: Seconds between two lines of progress where there is no terminal.
LINE_SECONDS = 30.0


class Terminal:
    """Shows stages on standard error, so that standard output stays clean."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.console = Printer(stderr=True, quiet=quiet, highlight=False)

    @contextlib.contextmanager
    def stage(self, description: str, total: int) -> Iterator[Tick]:
        """One bar, with the latest figures behind it; or lines."""
        stage = _Stage(description, total)
        shown = self._bar(stage) if self.console.is_terminal else self._lines(stage)
        with shown as update:

            def tick(units: int = 1, *, left: float | None = None, **figures: float | str) -> None:
                stage.advance(units, left, figures)
                update()

            yield tick

    @contextlib.contextmanager
    def _bar(self, stage: _Stage) -> Iterator[Callable[[], None]]:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            _Left(stage),
            TextColumn("{task.fields[figures]}", markup=False),
        )
        with Bars(*columns, console=self.console, disable=self.quiet, transient=False) as bars:
            task = bars.add_task(f"{stage.description:<9}", total=stage.total, figures="")
            yield lambda: bars.update(task, completed=stage.done, figures=stage.figures)
            if not bars.tasks[0].finished:
                bars.update(task, total=bars.tasks[0].completed)

    @contextlib.contextmanager
    def _lines(self, stage: _Stage) -> Iterator[Callable[[], None]]:
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(LINE_SECONDS):
                self.say(stage.line())

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield lambda: None
            self.say(stage.last_line())
        finally:
            ended.set()
            watcher.join()

    def say(self, line: str) -> None:
        """A line worth reading; strangers' brackets are not markup."""
        self.console.print(Text(line), soft_wrap=not self.console.is_terminal)


@dataclass
class _Stage:
    """How far a stage has come."""

    description: str
    total: int
    done: int = 0
    #: When it will end, where whoever does the work knows.
    until: float | None = None
    started: float = field(default_factory=time.monotonic)
    _figures: dict[str, float | str] = field(default_factory=dict)

    def advance(self, units: int, left: float | None, figures: dict[str, float | str]) -> None:
        """So many units more are done."""
        self.done += units
        self.until = self.until if left is None else time.monotonic() + left
        self._figures.update(figures)

    @property
    def figures(self) -> str:
        """The latest, as text."""
        return "  ".join(f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in self._figures.items())

    def line(self) -> str:
        """How far it is, how long that took and how long the rest may."""
        took = time.monotonic() - self.started
        left = self.until - time.monotonic() if self.until is not None else None
        if left is None and self.done:
            left = took / self.done * (self.total - self.done)
        rest = "" if left is None else f", about {in_words(max(0.0, left))} left"
        return f"{self.description:<9} {self.done} of {self.total}, {in_words(took)}{rest}  {self.figures}".rstrip()

    def last_line(self) -> str:
        """How long it took in all."""
        took = in_words(time.monotonic() - self.started)
        return f"{self.description:<9} {self.done} of {self.total} in {took}  {self.figures}".rstrip()


class _Left(ProgressColumn):
    """The time left: as it was told, counted down, or else by the share that is done."""

    def __init__(self, stage: _Stage) -> None:
        super().__init__()
        self._stage, self._usual = stage, TimeRemainingColumn()

    def render(self, task: Task) -> Text:
        """Hours, minutes and seconds."""
        if self._stage.until is None:
            return self._usual.render(task)
        minutes, seconds = divmod(max(0, round(self._stage.until - time.monotonic())), 60)
        return Text(f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}", style="progress.remaining")

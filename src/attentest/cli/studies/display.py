"""What a person sees of a study while it runs, the same for every engine.

In a terminal: a bar with cells done, running, failed and the time left, and a line for every running cell; failures
stay above it. Elsewhere (a file, a pipe): one plain line for every cell that ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from attentest.durations import in_words
from attentest.studies.engine import Job

__all__ = ["StudyDisplay"]

#: Columns that a running cell's stage, share and figures take; its label gets the others.
FIGURES = 52


@dataclass
class _Running:
    """A cell that is being computed."""

    label: str
    where: str
    since: float
    tries: int
    stage: str = ""
    done: int = 0
    total: int = 0
    figures: Mapping[str, float | str] = field(default_factory=dict)


class StudyDisplay:
    """A watch that shows a study on a console; a live one inside ``with``."""

    def __init__(
        self,
        console: Console,
        *,
        quiet: bool = False,
        unit: str = "cells",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.console = console
        self._unit = unit
        self.quiet = quiet
        self._clock = clock
        self._lock = threading.Lock()  # a live display is painted by a thread of its own
        self._live: Live | None = None
        self._total = 0
        self._done = 0
        self._failed = 0
        self._companions = 0
        self._trained = 0
        self._seconds: list[float] = []
        self._running: dict[str, _Running] = {}
        self._tries: dict[str, int] = {}

    def expect(self, total: int, done: int = 0, companions: int = 0) -> None:
        """Say how many cells the study has, how many were done before, and the companions to train for the rest."""
        with self._lock:
            self._total, self._done, self._companions = total, done, companions

    def __enter__(self) -> Self:
        if self.console.is_terminal and not self.quiet:
            self._live = Live(self, console=self.console, refresh_per_second=5)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def started(self, job: Job, where: str) -> None:
        """A line for the cell."""
        with self._lock:
            tries = self._tries[job.id] = self._tries.get(job.id, 0) + 1
            self._running[job.id] = _Running(job.label, where, self._clock(), tries)

    def moved(self, job: Job, stage: str, done: int, total: int, figures: Mapping[str, float | str]) -> None:
        """The cell's line moves."""
        with self._lock:
            if running := self._running.get(job.id):
                running.stage, running.done, running.total, running.figures = stage, done, total, figures

    def said(self, job: Job, line: str) -> None:
        """A line above the bar."""
        self._print(Text.assemble((f"{job.label}: ", "dim"), line))

    def ended(self, job: Job, error: str | None) -> None:
        """The cell's line goes; a failure stays, with its reason."""
        with self._lock:
            running = self._running.pop(job.id, None)
            took = self._clock() - running.since if running else 0.0
            if error is None:
                self._done += job.companion is None
                self._trained += job.companion is not None
                self._seconds.append(took)
            else:
                self._failed += 1
        if error is not None:
            self._print(Text.assemble(("failed  ", "bold red"), f"{job.label}: {error}"))
        elif self._live is None:
            self._print(Text(f"done    {job.label} in {in_words(took)} ({self._header()})"))

    def _print(self, line: Text) -> None:
        if not self.quiet:
            # A line that goes to a file is not cut into pieces at a width nobody chose.
            self.console.print(line, soft_wrap=not self.console.is_terminal)

    def seconds_left(self) -> float | None:
        """How long the rest will take if it is like what is finished; nothing finished, nothing to go by."""
        if not self._seconds or not self._total:
            return None
        mean = sum(self._seconds) / len(self._seconds)
        now = self._clock()
        waiting = max(0, self._left() - len(self._running))
        rest = [max(0.0, mean - (now - cell.since)) for cell in self._running.values()]
        return max([(waiting * mean + sum(rest)) / max(1, len(self._running)), *rest])

    def _left(self) -> int:
        """Cells and companions that have not ended."""
        return self._total + self._companions - self._done - self._trained - self._failed

    def _header(self) -> str:
        """Cells done, running, failed, time left."""
        parts = [f"{self._done} of {self._total} {self._unit}" if self._total else f"{self._done} {self._unit} done"]
        if self._companions:
            parts.insert(0, f"{self._trained} of {self._companions} control models trained")
        if self._running:
            parts.append(f"{len(self._running)} running")
        if self._failed:
            parts.append(f"{self._failed} failed")
        left = self.seconds_left()
        if left is not None and self._left() > 0:
            parts.append(f"time left {in_words(left)}")
        return " · ".join(parts)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The bar, and a line for every running cell as far as the screen is high."""
        with self._lock:
            header, width = self._header(), options.max_width
            top = Table.grid(padding=(0, 1))
            top.add_row(
                ProgressBar(
                    total=max(1, self._total + self._companions),
                    completed=self._done + self._trained + self._failed,
                    width=max(8, min(30, width - len(header) - 1)),
                ),
                Text(header, no_wrap=True, overflow="ellipsis"),
            )
            yield top
            cells = list(self._running.values())
            room = max(1, console.height - 3)
            label = min(max((len(cell.label) for cell in cells), default=0), max(12, width - FIGURES))
            for cell in cells[:room]:
                yield self._line(cell, label)
            if len(cells) > room:
                yield Text(f"… and {len(cells) - room} more", style="dim")

    def _line(self, cell: _Running, label: int) -> Text:
        """Who, what, how far, with which figures, for how long, where."""
        far = f"{min(100, 100 * cell.done // cell.total)} %" if cell.total else ""
        figures = [f"{k} {v:.3f}" if isinstance(v, float) else f"{k} {v}" for k, v in cell.figures.items()]
        again = [f"attempt {cell.tries}"] if cell.tries > 1 else []
        about = "  ".join([*figures, *again, in_words(self._clock() - cell.since), cell.where])
        return Text.assemble(
            f"{_shortened(cell.label, label):<{label}}  ",
            (f"{cell.stage:<9} {far:>5}  ", "cyan"),
            (about, "dim"),
            no_wrap=True,
            overflow="ellipsis",
        )


def _shortened(label: str, width: int) -> str:
    """A label that is too long loses its middle: corpus and seed stand at its ends."""
    if len(label) <= width:
        return label
    tail = width // 3
    return f"{label[: width - tail - 1]}…{label[-tail:]}"

"""Cells one after the other, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from attentest.errors import line_of
from attentest.studies.engine import Task, Watch, Work
from attentest.studies.engines.attempt import Event, attempt, on_one_thread, tell

__all__ = ["InProcess"]


@dataclass(frozen=True)
class InProcess:
    """One cell at a time, where the study was started."""

    name: ClassVar[str] = "in_process"
    summary: ClassVar[str] = "one cell after the other, in this process"

    def run(self, tasks: Sequence[Task], work: Work, watch: Watch) -> None:
        """Every task in turn; Ctrl-C passes through."""
        with on_one_thread():
            for task in tasks:
                watch.started(task, "this process")

                def send(event: Event, task: Task = task) -> None:
                    tell(watch, task, event)

                try:
                    error = attempt(work, task, send)
                except SystemExit as left:  # a cell that leaves its process must not take the study along
                    error = line_of(left)
                watch.ended(task, error)

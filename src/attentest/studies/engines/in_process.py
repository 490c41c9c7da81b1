"""Cells one after the other, in this process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from attentest.cores import cores
from attentest.errors import line_of
from attentest.studies.engine import Job, Watch, Work
from attentest.studies.engines.attempt import Event, attempt, tell

__all__ = ["InProcess"]


@dataclass(frozen=True)
class InProcess:
    """One cell at a time, where the study was started."""

    name: ClassVar[str] = "in_process"
    summary: ClassVar[str] = "one cell after the other, in this process"

    def run(self, jobs: Sequence[Job], work: Work, watch: Watch) -> None:
        """Every job in turn; Ctrl-C passes through."""
        there = cores()
        for job in (replace(job, cores=there) for job in jobs):
            watch.started(job, "this process")

            def send(event: Event, job: Job = job) -> None:
                tell(watch, job, event)

            try:
                error = attempt(work, job, send)
            except SystemExit as left:  # a cell that leaves its process must not take the study along
                error = line_of(left)
            watch.ended(job, error)

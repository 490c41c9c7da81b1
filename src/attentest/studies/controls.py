"""The control models of one audit, trained side by side before it: each on a core of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.progress import Progress, Tick
from attentest.runs.run import MODEL, Run
from attentest.studies.cell import FAILED, perform
from attentest.studies.engine import Job
from attentest.studies.engines import Processes

__all__ = ["controls_of", "train_controls", "waits_for"]


def controls_of(run: Run, cell: Job, runs: Path) -> list[Job]:
    """The other models that a cell's challenges need and nobody has trained, each after those that it needs itself."""
    needed = dict.fromkeys(one for other in run.companions for one in (*other.needs, other))
    jobs = [
        replace(cell, id=run.companion(one).id, label=f"{cell.label} · {one}", companion=one)
        for one in sorted(needed, key=lambda one: len(one.needs))
    ]
    return [job for job in jobs if not (runs / job.id / MODEL).is_file()]


def waits_for(job: Job) -> int:
    """How many other models must be trained before this one."""
    return 0 if job.companion is None else len(job.companion.needs)


def train_controls(run: Run, choices: Mapping[str, Any], runs: Path, progress: Progress) -> None:
    """Train what an audit compares its model with, each in a process of its own; the choices describe the run there.

    What fails here is left to the audit, which tries again and says what is wrong.
    """
    jobs = controls_of(run, Job(run.id, run.corpus.name, choices, str(runs.resolve())), runs)
    if len(jobs) < 2:
        return
    with progress.stage("Controls", len(jobs)) as tick:
        try:
            Processes().run(jobs, perform, _Counting(tick))
        except InputError as error:
            progress.say(f"Control models are trained one after the other: {error}")
    for job in jobs:
        (runs / job.id / FAILED).unlink(missing_ok=True)


@dataclass(frozen=True)
class _Counting:
    """A watch that counts the models that are there."""

    tick: Tick

    def started(self, job: Job, where: str) -> None:
        """Nothing to count."""

    def moved(self, job: Job, stage: str, done: int, total: int, figures: Mapping[str, float | str]) -> None:
        """Nothing to count."""

    def said(self, job: Job, line: str) -> None:
        """The same lines for every model: the audit has said them."""

    def ended(self, job: Job, error: str | None) -> None:
        """One more."""
        self.tick(1)

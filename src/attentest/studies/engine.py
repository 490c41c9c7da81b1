"""What runs the cells of a study: one process, many, or a Ray cluster, behind one small interface.

An engine is given jobs and a function that does one of them, and tells a watch what happens. It never decides what
a cell computes: the same job gives the same bytes in every engine, in every order, on any number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from attentest.challenges.companions import Companion
from attentest.progress import Progress

__all__ = ["Engine", "Job", "Watch", "Work"]


@dataclass(frozen=True)
class Job:
    """One cell to compute, or a companion to train for it, as plain values that travel to other processes."""

    #: The run's id, which names its folder.
    id: str
    #: What a person calls it: "sst · bilstm · additive · seed 0".
    label: str
    #: The keyword arguments of ``describe_run``.
    choices: Mapping[str, Any]
    #: The folder that holds runs.
    root: str
    device: str = "cpu"
    #: The share of the device's memory that it may keep, where others compute on the same one.
    share: float = 1.0
    #: How many cores of its machine it may use.
    cores: int = 1
    #: Only this companion of the cell's model is trained: its challenges need it.
    companion: Companion | None = None


#: Does one job, reporting through a progress; raises when it cannot.
Work = Callable[[Job, Progress], None]


class Watch(Protocol):
    """What an engine tells while it works; called in the driver's process, from one thread."""

    def started(self, job: Job, where: str) -> None:
        """A worker took the job (again, if an earlier attempt was lost)."""

    def moved(self, job: Job, stage: str, done: int, total: int, figures: Mapping[str, float | str]) -> None:
        """The job's current stage has come this far."""

    def said(self, job: Job, line: str) -> None:
        """The job has a line worth reading."""

    def ended(self, job: Job, error: str | None) -> None:
        """The job is done, or failed with this one line."""


class Engine(Protocol):
    """Runs jobs to their end; a job that fails does not stop the others."""

    def run(self, jobs: Sequence[Job], work: Work, watch: Watch) -> None:
        """Return when every job has ended."""

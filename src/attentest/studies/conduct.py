"""Conduct a study: plan it, give an engine the cells that are not done, and keep the record of what they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from attentest.progress import SILENT, Progress
from attentest.store.atomic import make_folder
from attentest.studies.cell import FAILED, keep_failure, perform
from attentest.studies.controls import controls_of, waits_for
from attentest.studies.engine import Engine, Job, Watch
from attentest.studies.plan import Planned, plan
from attentest.studies.record import write_record
from attentest.studies.study import Study

__all__ = ["Conducted", "conduct", "jobs_of"]


@dataclass(frozen=True)
class Conducted:
    """How a study ended: every cell's last word."""

    planned: Sequence[Planned]
    #: What went wrong, by run id.
    failed: Mapping[str, str]

    @property
    def done(self) -> int:
        """Cells that are complete."""
        return sum(1 for cell in self.planned if cell.run is not None and cell.run.id not in self.failed)

    @property
    def impossible(self) -> list[Planned]:
        """Cells that could not be run here, with the reason."""
        return [cell for cell in self.planned if cell.state == "cannot run"]


def conduct(
    study: Study,
    runs: Path,
    engine: Engine,
    watch: Watch,
    *,
    device: str = "cpu",
    retry_failed: bool = False,
    planned: Sequence[Planned] | None = None,
    progress: Progress = SILENT,
) -> Conducted:
    """Compute every cell that is not done; those that failed before are tried again only when asked to."""
    make_folder(runs)
    planned = plan(study, runs, progress=progress) if planned is None else planned
    write_record(study, planned, runs)
    jobs = jobs_of(planned, runs, device, retry_failed=retry_failed)
    heard = _Heard(watch)
    if jobs:
        for job in jobs:
            (runs / job.id / FAILED).unlink(missing_ok=True)
        engine.run(jobs, perform, heard)
    before = {cell.run.id: cell.problem for cell in planned if cell.run is not None and cell.state == "failed"}
    asked = {job.id for job in jobs}
    return Conducted(planned, {k: v for k, v in before.items() if k not in asked} | heard.failed)


def jobs_of(planned: Sequence[Planned], runs: Path, device: str, *, retry_failed: bool) -> list[Job]:
    """The cells to compute, each run once: first one seed of everything, so that a study cut short says something;
    within a seed the largest corpora, so that no worker is left alone with one at the end.

    Companions come before the cells that need them, each after those that it needs itself. Whoever comes too early
    waits at the folder of what is being trained, so no order can go wrong; this one only keeps the waiting short.
    """
    wanted = {"to do", "begun", *(["failed"] if retry_failed else [])}
    root = str(runs.resolve())
    cells: dict[str, Job] = {}
    first: list[Job] = []
    for cell in sorted(planned, key=lambda cell: (int(cell.cell.choices.get("seed", 0)), -_size(cell))):
        if cell.state in wanted and cell.run is not None:
            job = Job(cell.run.id, cell.cell.label, cell.cell.choices, root, device)
            cells.setdefault(cell.run.id, job)
            first += controls_of(cell.run, job, runs)
    companions = {job.id: job for job in sorted(first, key=waits_for)}
    return [*companions.values(), *cells.values()]


def _size(cell: Planned) -> int:
    """The number of tokens that the cell's model is trained on."""
    return 0 if cell.run is None else int(cell.run.corpus["train"].lengths.sum())


class _Heard:
    """Passes everything on to the watch, and keeps what failed."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.failed: dict[str, str] = {}

    def started(self, job: Job, where: str) -> None:
        self.watch.started(job, where)

    def moved(self, job: Job, stage: str, done: int, total: int, figures: Mapping[str, float | str]) -> None:
        self.watch.moved(job, stage, done, total, figures)

    def said(self, job: Job, line: str) -> None:
        self.watch.said(job, line)

    def ended(self, job: Job, error: str | None) -> None:
        if error is not None:
            self.failed[job.id] = error
            folder = Path(job.root) / job.id
            if not (folder / FAILED).exists():  # its worker was killed before it could say why
                keep_failure(folder, job, error)
        self.watch.ended(job, error)

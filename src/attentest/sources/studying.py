"""A study over models: the same questions to each, by whatever engine computes studies, and all side by side."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attentest.devices import keep_to
from attentest.errors import InputError
from attentest.progress import Progress
from attentest.sources.auditing import (
    TYPES,
    SourcesAudit,
    audit_sources,
    judged_folder,
    methods_of,
    refuse_placing,
)
from attentest.sources.question import Question
from attentest.sources.showing.page import write_page
from attentest.store.atomic import make_folder, write_text
from attentest.studies.engine import Engine, Job, Watch

__all__ = ["Studied", "audit_job", "study_sources"]


@dataclass(frozen=True)
class Studied:
    """The audits that were made, in the order of the models, and what went wrong with the others, by model."""

    audits: tuple[SourcesAudit, ...]
    failed: Mapping[str, str]


def study_sources(
    models: Sequence[str],
    questions: Sequence[Question],
    engine: Engine,
    watch: Watch,
    *,
    to: Path,
    device: str = "cpu",
    **options: Any,
) -> Studied:
    """Put the questions to every model; ``options`` are those of ``audit_sources``. One that fails stops no other."""
    if twice := [model for model in models if models.count(model) > 1]:
        raise InputError(f"--model {twice[0]} stands twice. Name every model once.")
    methods_of(options.get("methods", ()))
    refuse_placing(options.get("dtype", TYPES[0]), options.get("device_map"))
    make_folder(to)
    jobs = [
        Job(
            _id(model, questions, options),
            model,
            {"model": model, "questions": tuple(questions), **options},
            str(to.resolve()),
            device,
        )
        for model in models
    ]
    heard = _Heard(watch)
    engine.run(jobs, audit_job, heard)
    made = [job for job in jobs if job.id not in heard.failed]
    audits = [judged_folder(to / json.loads(_pointer(Path(job.root), job).read_text("utf-8"))["audit"]) for job in made]
    return Studied(tuple(audits), {job.label: heard.failed[job.id] for job in jobs if job.id in heard.failed})


def audit_job(job: Job, progress: Progress) -> None:
    """One model's audit, in whatever process; a small file tells the driver its name."""
    keep_to(job.share, job.device)
    options = dict(job.choices)
    model, questions = options.pop("model"), options.pop("questions")
    found = audit_sources(model, questions, device=job.device, to=job.root, progress=progress, **options)
    write_page(found)
    write_text(_pointer(Path(job.root), job), json.dumps({"model": model, "audit": found.folder.name}) + "\n")


def _id(model: str, questions: Sequence[Question], options: Mapping[str, Any]) -> str:
    """The same for the same command: two at once, in one folder, read what the other would have written."""
    about = [model, *map(repr, questions), repr(sorted(options.items()))]
    return f"model-{hashlib.sha256(chr(10).join(about).encode(errors='surrogatepass')).hexdigest()[:12]}"


def _pointer(root: Path, job: Job) -> Path:
    return root / f"{job.id}.json"


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
        self.watch.ended(job, error)

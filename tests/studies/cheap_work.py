"""Work that costs nothing and fails, dies or dawdles when told to; module-level, so that it travels to workers."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.progress import Progress
from attentest.store.atomic import write_text
from attentest.studies.engine import Job, Watch, Work


def jobs_in(root: Path, count: int = 4, **special: Mapping[str, Any]) -> list[Job]:
    """``t0``, ``t1``, …; ``t2={"die": 1}`` tells one of them what to do."""
    return [
        Job(f"t{i}", f"cell {i}", {"number": i, **special.get(f"t{i}", {})}, str(root / "runs")) for i in range(count)
    ]


def cheap_work(job: Job, progress: Progress) -> None:
    """Three files, each a stage that is not computed twice, and a sum that one thread decides."""
    import torch

    told = job.choices
    folder = Path(job.root) / job.id
    (folder / "stages").mkdir(parents=True, exist_ok=True)
    with progress.stage("Working", 3) as tick:
        for step in range(3):
            target = folder / "stages" / f"{step}.txt"
            if not target.exists():
                time.sleep(told.get("sleep", 0) / 3)
                if step == 1:
                    _obey(told, folder)
                write_text(target, hashlib.sha256(f"{job.id} {step}".encode()).hexdigest())
            tick(1, step=step, loss=1 / (step + 1))
    generator = torch.Generator().manual_seed(told["number"])
    numbers = torch.randn(300_000, generator=generator).sum().item()
    write_text(
        folder / "run.json", json.dumps({"id": job.id, "sum": numbers.hex(), "threads": torch.get_num_threads()})
    )
    progress.say(f"{job.id} is done")


def _obey(told: Mapping[str, Any], folder: Path) -> None:
    if "refuse" in told:
        raise InputError(told["refuse"])
    if "fail" in told:
        raise ValueError(told["fail"])
    if "exit" in told:
        sys.exit(told["exit"])
    attempts = folder / ".attempts"
    died = len(attempts.read_text()) if attempts.exists() else 0
    if died < told.get("die", 0):
        attempts.write_text("x" * (died + 1))
        os.kill(os.getpid(), signal.SIGKILL)


def chatty_work(job: Job, progress: Progress) -> None:
    """Ticks as fast as it can for half a second, with lines between."""
    until = time.monotonic() + 0.5
    with progress.stage("Counting", 10**9) as tick:
        while time.monotonic() < until:
            tick(1)
    for number in range(20):
        progress.say(f"line {number}")


def surroundings_work(job: Job, progress: Progress) -> None:
    """Writes down what the worker sees of its machine."""
    folder = Path(job.root) / job.id
    folder.mkdir(parents=True, exist_ok=True)
    time.sleep(job.choices.get("sleep", 0))
    seen = {name: os.environ.get(name) for name in ("CUDA_VISIBLE_DEVICES", "ATTENTEST_DATA", "OMP_NUM_THREADS")}
    write_text(folder / "seen.json", json.dumps({**seen, "folder": os.getcwd(), "pid": os.getpid()}))


class Recorder:
    """A watch that keeps everything it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str, Any]] = []

    def started(self, job: Job, where: str) -> None:
        self.heard.append((job.id, "started", where))

    def moved(self, job: Job, stage: str, done: int, total: int, figures: Mapping[str, float | str]) -> None:
        self.heard.append((job.id, "moved", (stage, done, total, dict(figures))))

    def said(self, job: Job, line: str) -> None:
        self.heard.append((job.id, "said", line))

    def ended(self, job: Job, error: str | None) -> None:
        self.heard.append((job.id, "ended", error))

    def of(self, kind: str, job: str | None = None) -> list[Any]:
        return [about for id_, what, about in self.heard if what == kind and job in (None, id_)]

    @property
    def errors(self) -> dict[str, str | None]:
        return {id_: about for id_, what, about in self.heard if what == "ended"}


def heard_from(engine: Any, jobs: list[Job], work: Work = cheap_work, watch: Watch | None = None) -> Recorder:
    """Run the jobs; every one starts before anything else is heard of it, and ends once, last."""
    recorder = watch or Recorder()
    engine.run(jobs, work, recorder)
    assert isinstance(recorder, Recorder)
    for job in jobs:
        kinds = [what for id_, what, _ in recorder.heard if id_ == job.id]
        assert kinds[0] == "started"
        assert kinds[-1] == "ended"
        assert kinds.count("ended") == 1
    return recorder


def files_below(root: Path) -> dict[str, bytes]:
    """Every file that is not hidden, by its path."""
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    }


def processes_in_session(session: int) -> list[int]:
    """The processes of a session, zombies not counted."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state, _, _, sid = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            except OSError:
                continue
            if int(sid) == session and state != "Z":
                found.append(int(entry.name))
    return found


def gone_within(session: int, seconds: float) -> bool:
    """Whether the session's last process leaves in time."""
    until = time.monotonic() + seconds
    while processes_in_session(session):
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True

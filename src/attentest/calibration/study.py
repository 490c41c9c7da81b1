"""The calibration study: every member measured once, side by side, each kept in a file of its own when it is done.

    FOLDER/members/KEY.json  the record of a member
    FOLDER/failed/KEY.json   why one could not be measured; it is tried again by the next study
A study that was killed goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from attentest.calibration.measuring import DEPTHS, Depth, measured
from attentest.calibration.member import Member
from attentest.progress import Progress
from attentest.store.atomic import make_folder, write_text
from attentest.studies.engine import Engine, Job, Watch

__all__ = ["Measured", "conduct", "key_of", "measure_job", "remaining"]


@dataclass(frozen=True)
class Measured:
    """How many members a study has, and what became of those that it could not measure, by their names."""

    members: int
    done: int
    failed: dict[str, str]


def key_of(member: Member, depth: Depth) -> str:
    """What names a member's record: the same member of another depth has another."""
    return hashlib.sha256(f"{member.name}\n{depth.name}".encode()).hexdigest()[:16]


def remaining(members: Iterable[Member], folder: Path, depth: Depth) -> list[Member]:
    """The members without a record, in an order by chance, so that any part of them is of all kinds."""
    left = [one for one in members if not (folder / "members" / f"{key_of(one, depth)}.json").is_file()]
    return sorted(left, key=lambda one: key_of(one, depth))


def conduct(
    members: Sequence[Member], folder: Path, depth: Depth, engine: Engine, watch: Watch, *, fresh: bool = False
) -> Measured:
    """Measure every member that has no record yet, or all of them; one that fails does not stop the others."""
    for name in ("members", "failed"):
        if fresh:
            shutil.rmtree(folder / name, ignore_errors=True)
        make_folder(folder / name)
    jobs = [
        Job(key_of(one, depth), one.name, {"member": one, "depth": depth.name}, str(folder))
        for one in remaining(members, folder, depth)
    ]
    listening = _Listening(watch, folder)
    if jobs:
        engine.run(jobs, measure_job, listening)
    done = len(members) - len(remaining(members, folder, depth))
    return Measured(len(members), done, listening.failed)


def measure_job(job: Job, progress: Progress) -> None:
    """Measure one member, in whatever process; its run is gone when its record is written."""
    member, depth = job.choices["member"], DEPTHS[job.choices["depth"]]
    folder = Path(job.root)
    with tempfile.TemporaryDirectory(prefix="attentest-calibrate-") as scratch:
        record = measured(member, depth, Path(scratch), progress)
    write_text(folder / "members" / f"{job.id}.json", json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
    (folder / "failed" / f"{job.id}.json").unlink(missing_ok=True)


class _Listening:
    """A watch that also keeps what failed."""

    def __init__(self, watch: Watch, folder: Path) -> None:
        self._watch, self._folder = watch, folder
        self.failed: dict[str, str] = {}
        self.started, self.moved = watch.started, watch.moved

    def said(self, job: Job, line: str) -> None:
        """What single audits pass over is not worth a line in a study of hundreds."""

    def ended(self, job: Job, error: str | None) -> None:
        """A failure is kept with its reason."""
        if error is not None:
            self.failed[job.label] = error
            write_text(
                self._folder / "failed" / f"{job.id}.json",
                json.dumps({"member": job.label, "error": error}, ensure_ascii=False) + "\n",
            )
        self._watch.ended(job, error)

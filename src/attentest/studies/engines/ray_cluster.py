"""Cells on a Ray cluster: one started here for the occasion, or one that runs already on any number of machines.

Ray finds a place for every cell, tries again when a worker or a whole node dies, and brings back its progress through
a small actor on the driver's node. Nodes that see the folder of runs write into it; for the others the driver fetches
the files. Every node needs attentest in the driver's version, and the corpora at the driver's ATTENTEST_DATA.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from attentest import __version__
from attentest.data.catalog.cache import cache_folder
from attentest.errors import AttentestError, InputError, StorageError, line_of
from attentest.store.atomic import checksum, make_folder, replacing
from attentest.studies.engine import Job, Watch, Work
from attentest.studies.engines.attempt import Event, attempt, tell
from attentest.studies.engines.ray_connection import connected, identified, identity_of

__all__ = ["Conductor", "Outcome", "RayCluster"]

#: Files come from a node that does not share the runs' disk in parts of at most this many bytes.
PART = 64 * 2**20
#: Seconds between two looks at what the workers report.
GLANCE = 0.2
#: Seconds to wait for the actor that carries events; a study does not depend on it.
PATIENCE = 30
#: Variables of the driver that say where a node finds corpora and keeps prepared ones.
PASSED_ON = ("ATTENTEST_DATA", "ATTENTEST_CACHE")


@dataclass(frozen=True)
class RayCluster:
    """As many cells at a time as the cluster's CPUs and GPUs take."""

    name: ClassVar[str] = "ray"
    summary: ClassVar[str] = "cells on a Ray cluster, here or on many machines"

    #: Host and port of a running cluster, or ``auto``; none: a cluster of this machine, for as long as the study runs.
    address: str | None = None
    #: At most this many cells at a time; 0: as many as fit.
    workers: int = 0
    #: What one cell takes of a node; a share such as 0.25 puts four cells on one GPU.
    cpus: float = 1.0
    gpus: float = 0.0
    #: How often a job is tried again after its worker or node died.
    retries: int = 3

    def __post_init__(self) -> None:
        for field in ("workers", "cpus", "gpus", "retries"):
            if getattr(self, field) < 0:
                raise InputError(f"{field}={getattr(self, field)!r} of the engine 'ray' must not be below zero.")
        for field in ("cpus", "gpus"):
            if getattr(self, field) > 1 and getattr(self, field) % 1:
                raise InputError(f"{field}={getattr(self, field)!r}: above one, Ray gives whole ones only.")

    def run(self, jobs: Sequence[Job], work: Work, watch: Watch) -> None:
        """Return when every job has ended; jobs that still run are cancelled, whatever happens."""
        if self.gpus == 0 and (asked := next((t.device for t in jobs if t.device.startswith("cuda")), None)):
            raise InputError(f"Device {asked!r} on Ray: say what share of a GPU one cell takes, such as gpus=0.25.")
        if jobs:
            with connected(self.address, self.workers * self.cpus) as ray:
                self._refuse_what_never_fits(ray)
                Conductor(self, ray, jobs, work, watch).conduct()

    def _refuse_what_never_fits(self, ray: Any) -> None:
        """Ray would wait for ever."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if not any(node.get("CPU", 0) >= self.cpus and node.get("GPU", 0) >= self.gpus for node in nodes):
            raise InputError(
                f"No node of the Ray cluster has the {self.cpus:g} CPU and {self.gpus:g} GPU that one cell asks for. "
                "Ask for less, or add a node."
            )


@dataclass(frozen=True)
class _Setting:
    """What the driver tells every worker beside the job."""

    version: str
    #: The driver's working folder, so that relative paths mean the same where it exists.
    folder: str
    #: The identity of each folder of runs, by its path.
    roots: dict[str, str]


@dataclass(frozen=True)
class Outcome:
    """What a worker gives back."""

    error: str | None
    node: str = ""
    #: Where its files are, if not in the driver's folder of runs: name, size and sha256 of each.
    scratch: str = ""
    files: tuple[tuple[str, int, str], ...] = ()


class Conductor:
    """The driver's side of one study."""

    def __init__(self, engine: RayCluster, ray: Any, jobs: Sequence[Job], work: Work, watch: Watch) -> None:
        self.engine, self.ray, self.jobs, self.work, self.watch = engine, ray, jobs, work, watch
        self.waiting = deque(range(len(jobs)))
        self.running: dict[Any, int] = {}
        self.refetched: dict[int, int] = {}
        #: Where nodes that do not see the folder of runs keep what they compute.
        self.elsewhere: dict[str, str] = {}
        here = _only_on(ray.get_runtime_context().get_node_id())
        self.mailbox = ray.remote(_Mailbox).options(num_cpus=0, scheduling_strategy=here, max_restarts=-1).remote()
        roots = {root: identified(Path(root)) for root in {str(Path(job.root).absolute()) for job in jobs}}
        self.setting = _Setting(__version__, os.getcwd(), roots)
        variables = {name: os.environ[name] for name in PASSED_ON if os.environ.get(name)}
        if not engine.gpus:
            variables["CUDA_VISIBLE_DEVICES"] = ""  # a cell that asked for no share of a GPU takes none
        self.environment = {"env_vars": {"OMP_NUM_THREADS": "1", **variables}}

    def conduct(self) -> None:
        """Submit, listen, collect."""
        compute = self.ray.remote(_compute).options(
            num_cpus=self.engine.cpus,
            num_gpus=self.engine.gpus,
            max_retries=self.engine.retries,
            runtime_env=self.environment,
        )
        try:
            while self.waiting or self.running:
                while self.waiting and not 0 < self.engine.workers <= len(self.running):
                    number = self.waiting.popleft()
                    job = self.jobs[number]
                    share = min(1.0, self.engine.gpus) or 1.0
                    absolute = replace(job, root=str(Path(job.root).absolute()), share=share)
                    ref = compute.remote(number, absolute, self.work, self.setting, self.mailbox)
                    self.running[ref] = number
                ended, _ = self.ray.wait(list(self.running), timeout=GLANCE)
                self._listen()  # a worker returns only when its events have arrived, so none comes after the end
                for ref in ended:
                    self._collect(ref)
            self._tidy()
        finally:
            for ref in self.running:
                with contextlib.suppress(self.ray.exceptions.RayError):
                    self.ray.cancel(ref, force=True)

    def _listen(self) -> None:
        known = set(self.running.values())
        with contextlib.suppress(self.ray.exceptions.RayError):  # the display may lose a step, the study may not
            for number, event in self.ray.get(self.mailbox.take.remote(), timeout=PATIENCE):
                if number in known:
                    tell(self.watch, self.jobs[number], event)

    def _collect(self, ref: Any) -> None:
        number = self.running.pop(ref)
        try:
            outcome: Outcome = self.ray.get(ref)
        except self.ray.exceptions.RayError as error:
            self._refuse_without_cluster(error)
            self.watch.ended(self.jobs[number], self._told(error))
            return
        try:
            self.fetch(self.jobs[number], outcome)
        except self.ray.exceptions.RayError as error:
            # The node died with the files it had computed.
            self.refetched[number] = self.refetched.get(number, 0) + 1
            if self.refetched[number] <= self.engine.retries:
                self.waiting.appendleft(number)
            else:
                self.watch.ended(self.jobs[number], self._told(error))
        except AttentestError as error:
            self.watch.ended(self.jobs[number], line_of(error))
        else:
            self.watch.ended(self.jobs[number], outcome.error)

    def _refuse_without_cluster(self, error: Exception) -> None:
        """Where the cluster itself is gone no cell is to blame: none is marked as failed."""
        known = self.ray.exceptions
        cells = (known.RayTaskError, known.WorkerCrashedError, known.OutOfMemoryError, known.NodeDiedError)
        if not isinstance(error, (*cells, known.RuntimeEnvSetupError, known.TaskUnschedulableError)):
            raise _gone(error) from error

    def _told(self, error: Exception) -> str:
        """What Ray says, in one line."""
        lost = self.ray.exceptions
        if isinstance(error, (lost.WorkerCrashedError, lost.NodeDiedError, lost.OutOfMemoryError)):
            times = "once" if self.engine.retries == 0 else f"{self.engine.retries + 1} times"
            return (
                f"Its worker died {times} ({type(error).__name__}). If memory ran out, let fewer cells run at a time; "
                "Ray's logs tell more."
            )
        return line_of(getattr(error, "cause", None) or error).partition(" traceback: ")[0][:500]

    def fetch(self, job: Job, outcome: Outcome) -> None:
        """Bring the files of a node that does not see the folder of runs; each is whole or not there."""
        if not outcome.scratch:
            return
        self.elsewhere[outcome.node] = str(Path(outcome.scratch).parent)
        for name, size, digest in outcome.files:
            target = Path(job.root) / name
            if ".." in Path(name).parts or Path(name).is_absolute():
                raise StorageError(f"Node {outcome.node} sends {name!r}, which is no file of a run. Look at that node.")
            make_folder(target.parent)
            with replacing(target) as temporary:
                with temporary.open("wb") as handle:
                    for start in range(0, size, PART):
                        handle.write(self._part(outcome, name, start))
                if checksum(temporary) != digest:
                    raise StorageError(f"{target} did not arrive from node {outcome.node} as it was. Run it again.")
        self.ray.get(self._there(_discard, outcome.node).remote([outcome.scratch]))

    def _part(self, outcome: Outcome, name: str, start: int) -> bytes:
        """Some of a file; a disk that cannot be read is an error of the cell, a node that is gone is not."""
        try:
            read = self._there(_read, outcome.node).remote(f"{outcome.scratch}/{name}", start, PART)
            return bytes(self.ray.get(read))
        except self.ray.exceptions.RayTaskError as error:
            raise StorageError(f"Cannot read {name} on node {outcome.node}: {self._told(error)}. Try again.") from error

    def _tidy(self) -> None:
        """Remove what attempts left that were lost on such a node and ended on another."""
        for node, folder in self.elsewhere.items():
            with contextlib.suppress(self.ray.exceptions.RayError):
                self.ray.get(self._there(_discard, node).remote([f"{folder}/{job.id}" for job in self.jobs]))

    def _there(self, function: Callable[..., Any], node: str) -> Any:
        """The function as a remote one of this node, which takes no CPU."""
        options = {"num_cpus": 0, "scheduling_strategy": _only_on(node), "runtime_env": self.environment}
        return self.ray.remote(function).options(**options)


def _gone(error: Exception) -> StorageError:
    return StorageError(
        f"The Ray cluster is gone ({type(error).__name__}). What was done is kept, no cell counts as failed, and the "
        "same command goes on from there."
    )


def _only_on(node: str) -> Any:
    """Ray's way of saying: on this node or not at all."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node, soft=False)


class _Mailbox:
    """Where workers leave events and the driver collects them."""

    def __init__(self) -> None:
        self.events: list[tuple[int, Event]] = []

    def put(self, number: int, event: Event) -> None:
        """An event of one job."""
        self.events.append((number, event))

    def take(self) -> list[tuple[int, Event]]:
        """All events since the last time."""
        events, self.events = self.events, []
        return events


def _compute(number: int, job: Job, work: Work, setting: _Setting, mailbox: Any) -> Outcome:
    """The worker's side of one job."""
    import ray

    about = ray.get_runtime_context()
    delivered: list[Any] = []

    def send(event: Event) -> None:
        delivered[:] = [mailbox.put.remote(number, event)]

    send(("started", _place(ray)))
    node = about.get_node_id()
    if __version__ != setting.version:
        return Outcome(
            f"Node {_place(ray)} has attentest {__version__}, the driver {setting.version}. Install the same on every "
            "node."
        )
    with contextlib.suppress(OSError):
        os.chdir(setting.folder)
    identity = setting.roots[job.root]
    shared = identity_of(Path(job.root)) == identity
    scratch = "" if shared else str(cache_folder().absolute() / "scratch" / identity / job.id)
    error = attempt(work, replace(job, root=scratch or job.root), send)
    with contextlib.suppress(ray.exceptions.RayError):
        ray.get(delivered, timeout=PATIENCE)
    return Outcome(error, node, scratch, tuple(_inventory(Path(scratch))) if scratch else ())


def _place(ray: Any) -> str:
    """The node's address, and its GPU if the worker has one."""
    gpus = ray.get_runtime_context().get_accelerator_ids().get("GPU", [])
    return str(ray.util.get_node_ip_address()) + "".join(f", GPU {gpu}" for gpu in gpus)


def _inventory(folder: Path) -> Iterator[tuple[str, int, str]]:
    """Every file that is whole, run.json last: it says which of the others are finished."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".")]
    for path in sorted(files, key=lambda path: (path.name == "run.json", path)):
        yield path.relative_to(folder).as_posix(), path.stat().st_size, checksum(path)


def _read(path: str, start: int, size: int) -> bytes:
    """A part of a file on this node."""
    with open(path, "rb") as handle:
        handle.seek(start)
        return handle.read(size)


def _discard(folders: Sequence[str]) -> None:
    """Remove what the driver has fetched or got elsewhere."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)

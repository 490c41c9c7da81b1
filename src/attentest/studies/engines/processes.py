"""Cells side by side, in processes of this machine that live as long as the study and no longer than its driver.

Each worker has one pipe: jobs go down it, events come up. A worker that dies is replaced and its job tried again. A
worker notices the death of the driver by itself, so that kill -9 leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import ClassVar

from attentest.cores import cores
from attentest.errors import InputError
from attentest.studies.engine import Job, Watch, Work
from attentest.studies.engines.attempt import Event, attempt, tell

__all__ = ["Processes"]


@dataclass(frozen=True)
class Processes:
    """Several cells at a time, each in a process of its own."""

    name: ClassVar[str] = "processes"
    summary: ClassVar[str] = "cells side by side, in processes of this machine"

    #: How many; 0: one for every core.
    workers: int = 0
    #: How often a job is tried again after its process died.
    retries: int = 3

    def __post_init__(self) -> None:
        if self.workers < 0:
            raise InputError(f"{self.workers} workers: give a number from 1 up, or 0 for one on every core.")
        if self.retries < 0:
            raise InputError(f"{self.retries} retries: give a number from 0 up.")

    def run(self, jobs: Sequence[Job], work: Work, watch: Watch) -> None:
        """Return when every job has ended; workers are stopped, whatever happens."""
        size = min(self.workers or cores(), len(jobs))
        waiting = deque(_Queued(replace(job, share=1 / size, cores=max(1, cores() // size))) for job in jobs)
        team: list[_Worker] = []
        able = False  # whether any worker was ever able to start
        try:
            for number in range(size):
                _join(team, number + 1, work)
            while waiting or any(worker.queued for worker in team):
                for worker in team:
                    if worker.queued is None and waiting:
                        worker.take(waiting.popleft())
                ready = set(wait([end for worker in team for end in (worker.pipe, worker.process.sentinel)]))
                for worker in list(team):
                    if ready.isdisjoint((worker.pipe, worker.process.sentinel)) or worker.hear(watch):
                        continue
                    team.remove(worker)
                    worker.stop()
                    able = able or worker.greeted or any(other.greeted for other in team)
                    if not able and (worker.process.exitcode or 0) > 0:
                        raise InputError(_cannot_start(worker.process.exitcode))
                    self._lost(worker, waiting, watch)
                    if waiting:
                        _join(team, worker.number, work)
            for worker in team:
                worker.dismiss()
        finally:
            for worker in team:
                worker.stop()

    def _lost(self, worker: _Worker, waiting: deque[_Queued], watch: Watch) -> None:
        """A worker died: its job goes back to the head of the queue, or has failed too often."""
        queued = worker.queued
        if queued is None:
            return
        queued.lost += 1
        if queued.lost <= self.retries:
            waiting.appendleft(queued)
            return
        watch.ended(
            queued.job,
            f"Its process died {queued.lost} time{'s' if queued.lost > 1 else ''}, last with exit code "
            f"{_named(worker.process.exitcode or 0)}. "
            "If memory ran out, use fewer workers.",
        )


@dataclass
class _Queued:
    """A job, and how many processes died of it."""

    job: Job
    lost: int = 0


@dataclass(eq=False)
class _Worker:
    """A process and this side of its pipe."""

    number: int
    work: Work
    queued: _Queued | None = None
    #: Whether it has ever said anything: one that has not may never be able to.
    greeted: bool = False
    pipe: Connection = field(init=False)
    process: multiprocessing.process.BaseProcess = field(init=False)

    def __post_init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(theirs, self.work), name=f"attentest-{self.number}", daemon=True
        )
        self.process.start()
        theirs.close()

    def take(self, queued: _Queued) -> None:
        """Send the job down; should the worker be dead, its pipe says so when it is read."""
        self.queued = queued
        with contextlib.suppress(OSError):
            self.pipe.send(queued.job)

    def hear(self, watch: Watch) -> bool:
        """Pass on what the worker said; False when it is dead."""
        try:
            while self.pipe.poll():
                event: Event = self.pipe.recv()
                self.greeted = True
                if self.queued is not None:
                    tell(watch, self.queued.job, event)
                if event[0] == "ended":
                    self.queued = None
        except (EOFError, OSError):  # closed, or cut off in the middle of an event
            return False
        return self.process.is_alive()

    def dismiss(self) -> None:
        """No more jobs: the worker leaves by itself."""
        self.pipe.close()

    def stop(self) -> None:
        """See the worker gone: one that was dismissed or is dead goes quietly, any other is killed."""
        if self.pipe.closed:
            self.process.join(timeout=5)
        self.pipe.close()
        self.process.kill()
        self.process.join()


def _join(team: list[_Worker], number: int, work: Work) -> None:
    """Start a worker; Ctrl-C waits until the team knows it, and never reaches the worker, not even while it imports."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover - Windows
        team.append(_Worker(number, work))
        return
    resource_tracker.ensure_running()  # started later, it would let the first worker have Ctrl-C
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        team.append(_Worker(number, work))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, work: Work) -> None:
    """What a worker does: jobs, one after the other, until the driver closes the pipe or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole terminal; the driver decides
    _die_with_the_driver()
    name = multiprocessing.current_process().name.removeprefix("attentest-")

    def send(event: Event) -> None:
        try:
            pipe.send(event)
        except OSError:
            # Nobody listens any more. Raised into the work, this would be taken for a failure of the cell.
            os._exit(1)

    while True:
        try:
            job: Job = pipe.recv()
        except (EOFError, OSError):
            return
        send(("started", f"worker {name}"))
        send(("ended", attempt(work, job, send)))


def _die_with_the_driver() -> None:
    """Leave at once when the driver is gone, even if it was killed."""
    driver = multiprocessing.parent_process()
    if driver is None:
        return

    def watch_driver() -> None:
        driver.join()
        os._exit(1)

    threading.Thread(target=watch_driver, daemon=True).start()
    if sys.platform == "linux":  # the kernel is quicker than a thread that waits for the interpreter's lock
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def _cannot_start(code: int | None) -> str:
    return (
        f"Worker processes cannot start here (exit code {code}; what they said stands above). In a script, "
        "put what starts the study under 'if __name__ == \"__main__\":', or use the engine 'in_process'."
    )


def _named(code: int) -> str:
    """An exit code, with the signal's name where one ended the process."""
    with contextlib.suppress(ValueError):
        return f"{code} ({signal.Signals(-code).name})" if code < 0 else str(code)
    return str(code)

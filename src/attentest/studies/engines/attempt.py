"""One attempt at one job, the same in every engine: one torch thread, events while it works, one line if it fails."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from attentest.errors import line_of
from attentest.progress import Tick
from attentest.studies.engine import Job, Watch, Work

__all__ = ["Event", "Reporter", "attempt", "tell"]

#: The name of a watch's method, and what it is given beside the job.
Event = tuple[Any, ...]
#: Seconds between two events about how far a job has come.
PAUSE = 0.1


class Reporter:
    """A progress that sends events: every line, and at most ten times a second how far the stage has come."""

    def __init__(self, send: Callable[[Event], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._sent = -PAUSE

    @contextlib.contextmanager
    def stage(self, description: str, total: int) -> Iterator[Tick]:
        """A stage whose figures are kept until newer ones replace them."""
        done = 0
        shown: dict[str, float | str] = {}

        def tick(units: int = 1, *, left: float | None = None, **figures: float | str) -> None:
            nonlocal done
            with self._lock:
                done += units
                shown.update(figures)
                now = time.monotonic()
                if now - self._sent >= PAUSE:
                    self._sent = now
                    self._send(("moved", description, done, total, dict(shown)))

        tick(0)
        yield tick

    def say(self, line: str) -> None:
        """A line worth reading, sent at once."""
        with self._lock:
            self._send(("said", line))


def attempt(work: Work, job: Job, send: Callable[[Event], None]) -> str | None:
    """Do the job on one torch thread; what went wrong in one line, or nothing. ``work`` itself keeps the traceback."""
    from attentest.devices import reproducibly

    try:
        with reproducibly():
            work(job, Reporter(send))
    except Exception as error:
        return line_of(error)
    return None


def tell(watch: Watch, job: Job, event: Event) -> None:
    """Hand an event on to the watch."""
    getattr(watch, event[0])(job, *event[1:])

"""Run the command line within bounds of time, from a process that has it loaded: a case costs a fork, not a start."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import resource
import secrets
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from tests.campaigns.campaign import Fault
from tests.studies.cheap_work import gone_within

__all__ = ["PATIENCE", "Ended", "Started", "attentest", "refused", "started", "unexpected"]

#: Seconds that any refusal may take.
PATIENCE = 20.0
#: What a command says on stderr of how far it is, a line each; whatever else is there is no part of its answer.
PROGRESS = re.compile(
    r"(Corpus|Model|Study|Time|Beside) {2,}\S"
    r"| {8}\S"
    r"|\w+ +\d+ of \d+(,| in) "
    r"|Resuming: \d"
    r"|(Control model|Model) \d+ of \d+: "
    r"|(Challenge|Explainer) '.+' (skipped: |failed; )"
)


@final
@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    #: The exit code; minus the signal where one ended it.
    code: int
    out: str
    err: str
    seconds: float
    #: The most memory that it had, in bytes.
    peak: int
    timed_out: bool = False
    #: Seconds of its own on a core.
    cpu: float = 0.0
    #: Whether some of its processes were still there a while after its end.
    left_running: bool = False


@final
@dataclass(frozen=True)
class Started:
    """A process that runs, the leader of a session of its own."""

    process: int
    files: tuple[Path, Path]
    since: float

    def signal(self, number: int) -> None:
        """Send a signal to all its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process, number)

    def ended(self, seconds: float = PATIENCE, left: float = 0.0) -> Ended:
        """Wait for its end; after ``seconds``, or ``left`` seconds after its end, all its processes are killed.

        What is killed after the end was left running: it is told in ``left_running``.
        """
        found = None
        while found is None and time.monotonic() - self.since < seconds:
            process, status, used = os.wait4(self.process, os.WNOHANG)
            if process:
                found = status, used
            else:
                time.sleep(0.005)
        took, timed_out = time.monotonic() - self.since, found is None
        left_running = found is not None and left > 0 and not gone_within(self.process, left)
        self.signal(signal.SIGKILL)
        if found is None:
            _, *rest = os.wait4(self.process, 0)
            found = rest[0], rest[1]
        status, used = found
        texts = [path.read_bytes().decode(errors="replace") for path in self.files]
        for path in self.files:
            path.unlink()
        cpu, peak = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
        return Ended(os.waitstatus_to_exitcode(status), *texts, took, peak, timed_out, cpu, left_running)


def attentest(
    arguments: Sequence[str | Path],
    folder: Path,
    *,
    seconds: float = PATIENCE,
    memory: int | None = None,
    environment: dict[str, str] | None = None,
) -> Ended:
    """``attentest ARGUMENTS`` in a fork of this process, in ``folder``, in a process group of its own.

    ``memory`` bounds what it may allocate (RLIMIT_DATA), beyond what it inherits. After ``seconds`` the whole group
    is killed.
    """
    return started(arguments, folder, memory=memory, environment=environment).ended(seconds)


def started(
    arguments: Sequence[str | Path],
    folder: Path,
    *,
    memory: int | None = None,
    environment: dict[str, str] | None = None,
    first: Callable[[], None] = lambda: None,
) -> Started:
    """As ``attentest``, without waiting for the end; the fork calls ``first`` before anything else."""
    importlib.import_module("attentest.cli.main")  # loaded once, here, and inherited
    folder, mark = folder.resolve(), secrets.token_hex(4)
    since = time.monotonic()
    out, err = folder / f".stdout-{mark}", folder / f".stderr-{mark}"
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        _become([str(one) for one in arguments], folder, (out, err), memory, environment or {}, first)
    until = time.monotonic() + 10
    while not err.exists() and time.monotonic() < until:  # from then on it leads a session
        time.sleep(0.001)
    return Started(process, (out, err), since)


def _become(
    arguments: list[str],
    folder: Path,
    files: tuple[Path, Path],
    memory: int | None,
    environment: dict[str, str],
    first: Callable[[], None],
) -> None:
    """The child: the command line's own entry point with these arguments; never returns."""
    code = 70
    try:
        os.setsid()
        os.chdir(folder)
        os.environ.update(environment)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        for number, path in enumerate(files, start=1):
            os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - ends with the process
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where somebody runs this in the background
        _warn_as_python_does()
        first()
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
        sys.argv = ["attentest", *arguments]
        from attentest.cli.main import main

        main()
        code = 0
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _warn_as_python_does() -> None:
    """Python's own filters, as a user's process starts with them, where those of pytest were inherited."""
    warnings.resetwarnings()
    for quiet in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", quiet)


def unexpected(err: str, *, refusal: bool) -> list[str]:
    """What stands on stderr beside progress and, of a refusal, its one line at the end."""
    *lines, rest = err.split("\n")
    if refusal:
        rest += "" if lines and lines.pop().startswith("attentest: ") else err[-600:] or "nothing"
    return [line for line in lines if not PROGRESS.match(line)] + [rest] * bool(rest)


def refused(ended: Ended, what: str) -> None:
    """Fault unless it ended with code 2 and exactly one line on stderr that begins with attentest's name."""
    said = ended.err.strip()
    if ended.timed_out:
        raise Fault(f"{what}: no end after {ended.seconds:.0f} s")
    if ended.code != 2:
        raise Fault(f"{what}: exit code {ended.code}, not 2: {(said or ended.out.strip())[-600:]}")
    if "\n" in said or unexpected(ended.err, refusal=True):
        raise Fault(f"{what}: not one line: {said[-600:]}")
    if "A fault in attentest" in said:
        raise Fault(f"{what}: {said[-600:]}")

"""Clean up after a cluster of our own once its driver is gone, however it went.

Run as a program of its own, beside the driver, which holds the other end of its standard input. When that closes,
every process but the driver that still writes into the cluster's folder is killed, and the folder removed: after a
kill -9 of the driver, some of Ray's own processes would stay for minutes. It imports nothing of attentest, to be there
at once.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

__all__ = ["guard", "writers_in"]


def writers_in(folder: str) -> list[int]:
    """The processes that have a file in the folder open for writing: those of the cluster, whose logs lie there."""
    return [int(entry.name) for entry in Path("/proc").glob("[0-9]*") if _writes_in(folder, entry)]


def _writes_in(folder: str, process: Path) -> bool:
    with contextlib.suppress(OSError):
        for opened in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                if os.readlink(opened).startswith(f"{folder}/") and _for_writing(process / "fdinfo" / opened.name):
                    return True
    return False


def _for_writing(about: Path) -> bool:
    flags = next(line.split()[1] for line in about.read_text().splitlines() if line.startswith("flags:"))
    return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY


def guard(folder: str, driver: int) -> None:
    """Wait for the end of standard input, then leave nothing."""
    sys.stdin.read()
    until = time.monotonic() + 20
    while (left := set(writers_in(folder)) - {driver}) and time.monotonic() < until:
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    guard(sys.argv[1], int(sys.argv[2]))

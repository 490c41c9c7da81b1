"""Clean up after a cluster of our own once its driver is gone, however it went.

Run as a program of its own, beside the driver, which holds the other end of its standard input. When that closes,
every process that still carries the cluster's mark in its environment is killed, and the cluster's folder removed:
after a kill -9 of the driver, some of Ray's own processes would stay for minutes. It imports nothing of attentest, to
be there at once.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import time
from pathlib import Path

__all__ = ["MARK", "guard", "marked"]

#: The variable whose value is the same random text in every process of the cluster, and in no other.
MARK = "ATTENTEST_RAY_CLUSTER"


def marked(value: str) -> list[int]:
    """The processes that were started with this mark."""
    found = []
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if f"{MARK}={value}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def guard(value: str, folder: str) -> None:
    """Wait for the end of standard input, then leave nothing."""
    sys.stdin.read()
    until = time.monotonic() + 20
    while (left := marked(value)) and time.monotonic() < until:
        for process in left:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    guard(*sys.argv[1:])

"""Two ways of doing the same work, in turns: medians, spread, and the most memory held."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

from attentest.errors import AttentestError

__all__ = [
    "Spent",
    "Work",
    "by_workers",
    "compared",
    "forget_peak",
    "machine",
    "peak",
    "spent",
    "table_of",
    "write_record",
]

#: Seconds after which a call is so long that two turns are enough.
LONG = 5.0


@dataclass(frozen=True)
class Work:
    """One piece of work, done in two ways."""

    name: str
    beside: str
    theirs: Callable[[], object]
    ours: Callable[[], object]
    #: By how much the two outputs, theirs first, differ, where they can be compared, and how much they may.
    apart: Callable[[Any, Any], float] | None = None
    most: float = 0.0
    #: What is timed: the processor, so that what else runs is not counted, or the wall, where several cores work.
    clock: Callable[[], float] = time.process_time


def by_workers(work: Callable[[Any], Any], parts: Sequence[Any], workers: int = 2) -> list[Any]:
    """The work on every part, by so many workers with a torch thread each, as an examination has them."""
    return list(_pool(workers).map(work, parts))


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """They stay: what oneDNN has made for a thread's shapes goes with the thread."""
    return ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(1,))


def compared(work: Work, rounds: int) -> dict[str, Any]:
    """Both in turns, once to warm up and to compare the outputs, then ``rounds`` times; the ratio is of the medians."""
    turns: list[dict[str, float]] = []
    peaks: dict[str, float] = {}
    row: dict[str, Any] = {"work": work.name, "beside": work.beside}
    for turn in range(rounds + 1):
        outputs, taken = [], {}
        for name, way in (("theirs", work.theirs), ("ours", work.ours)):
            forget_peak()
            started = work.clock()
            outputs.append(way())
            taken[name] = work.clock() - started
            peaks[name] = max(peaks.get(name, 0.0), peak())
        if work.apart is not None and not turn:
            row["apart"] = work.apart(*outputs)
            _refuse_different(work, row["apart"])
        if turn or taken["theirs"] > LONG:  # what takes so long needs no warming up
            turns.append(taken)
        if turn and sum(one["theirs"] for one in turns) > 2 * LONG:
            break
    for name in ("theirs", "ours"):
        some = [one[name] for one in turns]
        row |= {name: statistics.median(some), f"{name} spread": [min(some), max(some)]}
    row |= {f"{name} peak MiB": round(most) for name, most in peaks.items()}
    each = [one["theirs"] / one["ours"] for one in turns]
    return row | {"turns": len(turns), "ratio": row["theirs"] / row["ours"], "ratio spread": [min(each), max(each)]}


def _refuse_different(work: Work, apart: float) -> None:
    if not apart <= work.most:
        raise AttentestError(
            f"{work.name}, beside {work.beside}: outputs differ by {apart:.2g}, more than {work.most:g}, so times mean "
            "nothing. Mend that first."
        )


def forget_peak() -> None:
    """Linux forgets the most memory held when told to; elsewhere the peak is that of the process."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def peak() -> float:
    """The most memory that this process held since ``forget_peak``, in mebibytes."""
    try:
        said = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return float("nan")
    return next((int(line.split()[1]) / 1024 for line in said.splitlines() if line.startswith("VmHWM")), float("nan"))


class Spent(NamedTuple):
    """What a command took, the processes included that it waited for."""

    #: Seconds of the processor, and of the wall.
    cpu: float
    wall: float
    #: The most that one process of it held, MiB.
    peak: float


def spent(command: Sequence[str], cores: int | None = None, **environment: str) -> Spent:
    """Run a command to its end, on so many cores; what attentest refuses, and any fault, ends the benchmark."""
    kept = sorted(os.sched_getaffinity(0))
    if cores is not None:
        if cores > len(kept):
            raise AttentestError(f"{cores} cores are asked for and {len(kept)} are here: name no more.")
        command = ["taskset", "--cpu-list", ",".join(map(str, kept[:cores])), *command]
    with tempfile.TemporaryFile() as said:
        started = time.perf_counter()
        child = subprocess.Popen(
            list(command), stdout=subprocess.DEVNULL, stderr=said, env={**os.environ, **environment}
        )
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - started
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            said.seek(0)
            raise AttentestError(f"{' '.join(command)}\n{said.read().decode(errors='replace').strip()}")
    return Spent(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024)


def machine() -> dict[str, Any]:
    """What the figures were measured on, and when."""
    return {
        "date": date.today().isoformat(),
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def write_record(path: Path, about: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """As JSON."""
    path.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n", encoding="utf-8")


def table_of(record: Mapping[str, Any]) -> str:
    """The rows as a table in Markdown."""
    head = "| work | beside | theirs, s | ours, s | times faster | outputs apart | peak MiB, theirs | ours |"
    lines = [head, "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for row in record["rows"]:
        low, high = row["ratio spread"]
        cells = (
            *(row["work"], row["beside"], f"{row['theirs']:.3f}", f"{row['ours']:.3f}"),
            *(
                f"{row['ratio']:.1f} [{low:.1f}, {high:.1f}]",
                f"{row['apart']:.0e}" if "apart" in row else "not compared",
            ),
            *(row["theirs peak MiB"], row["ours peak MiB"]),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    import sys

    print(table_of(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))

"""How a study gets faster with workers, and with nodes of a Ray cluster: seconds of the wall, and the memory held.

python -m benchmarks.scale.side_by_side [workers nodes] [--out FILE.json]

Eight models of the built-in corpus, trained and examined. *workers*: on one core, then on all, with 1 to 8 workers.
*nodes*: the same on a Ray cluster of 1 to 4 nodes of one core each, all of them on this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from attentest.cores import cores
from attentest.errors import AttentestError
from benchmarks import ended, measuring
from benchmarks.measuring import spent

WORKERS = (1, 2, 4, 8)
NODES = (1, 2, 4)
STUDY = """name = "eight"
title = "Eight small models"
[run]
corpus = "reviews"
epochs = 2
limit = 100
challenges = ["agreement", "adversary", "permutation"]
[grid]
attention = ["additive", "dot"]
seed = [0, 1, 2, 3]
"""
CELLS = 8
#: Seconds for a node to start, and to end.
PATIENCE = 60

Row = dict[str, Any]


def study(folder: Path) -> list[str]:
    """The command, but for what it is measured by; its runs are new."""
    path = folder / "eight.toml"
    path.write_text(STUDY, encoding="utf-8")
    runs = tempfile.mkdtemp(dir=folder)
    return [sys.executable, "-m", "attentest", "study", "run", str(path), "--quiet", "--runs", runs]


def by_workers(folder: Path) -> Iterator[Row]:
    """Processes of this machine."""
    spent([*study(folder), "--seeds", "1"])  # once to warm up
    for there in sorted({1, cores()}):
        for workers in WORKERS if there > 1 else WORKERS[:1]:
            took = spent([*study(folder), "--workers", str(workers)], there)
            yield {"what": f"{CELLS} models, workers", "size": workers, "cores": there, **took._asdict()}


def by_nodes(folder: Path) -> Iterator[Row]:
    """Nodes of one core each; without what the cluster itself takes of the processor."""
    for count in NODES:
        with cluster(count) as address:
            took = spent([*study(folder), "--engine", "ray", "--address", address])
            yield {"what": f"{CELLS} models, Ray nodes", "size": count, "cores": cores(), "wall": took.wall}


@contextlib.contextmanager
def cluster(count: int) -> Iterator[str]:
    """So many Ray nodes on this machine's loopback, and where to find them."""
    os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32), RAY_USAGE_STATS_ENABLED="0")
    with socket.socket() as probe:
        probe.bind(("127.0.0.2", 0))
        address = f"127.0.0.2:{probe.getsockname()[1]}"
    # Sockets need short paths.
    with tempfile.TemporaryDirectory(prefix="rb-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        started: list[subprocess.Popen[bytes]] = []
        try:
            for number in range(count):
                to = ("--head", f"--port={address.partition(':')[2]}", "--include-dashboard=false")
                started.append(_node(Path(folder), number, *(to if number == 0 else (f"--address={address}",))))
            yield address
        finally:
            for node in reversed(started):
                node.terminate()
            for node in started:
                node.wait(PATIENCE)


def _node(folder: Path, number: int, *to: str) -> subprocess.Popen[bytes]:
    """A node that has started."""
    log, ray = folder / f"{number}.log", Path(sys.executable).with_name("ray")
    command = [str(ray), "start", *to, f"--node-ip-address=127.0.0.{number + 2}", "--num-cpus=1", "--block"]
    command += [f"--temp-dir={folder / str(number)}", "--object-store-memory=100000000", "--disable-usage-stats"]
    with log.open("wb") as said:
        node = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)
    until = time.monotonic() + PATIENCE
    while b"Ray runtime started" not in log.read_bytes():
        if time.monotonic() > until or node.poll() is not None:
            node.kill()
            raise AttentestError(f"The Ray node {number} does not start: {log.read_text(errors='replace')[-500:]}")
        time.sleep(0.1)
    return node


CURVES: dict[str, Callable[[Path], Iterator[Row]]] = {"workers": by_workers, "nodes": by_nodes}


def main() -> None:
    """Every curve that was asked for, kept as it grows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("curves", nargs="*", default=[*CURVES], help=f"some of {', '.join(CURVES)}")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if unknown := [name for name in given.curves if name not in CURVES]:
        parser.error(f"there is no curve {unknown[0]!r}: choose from {', '.join(CURVES)}")
    rows: list[Row] = []
    table = Table("what", "how many", "cores", "wall, s", "processor, s", "peak MiB")
    with tempfile.TemporaryDirectory() as folder:
        for curve in given.curves:
            for row in CURVES[curve](Path(folder)):
                rows.append(row)
                numbers = [f"{row[name]:.1f}" if name in row else "" for name in ("wall", "cpu", "peak")]
                table.add_row(row["what"], str(row["size"]), str(row["cores"]), *numbers)
                if given.out:
                    measuring.write_record(given.out, measuring.machine(), rows)
    Console().print(table)


if __name__ == "__main__":
    ended(main)

"""An audit of a Transformers checkpoint: seconds a text, and the most memory held, for several numbers of texts.

python -m benchmarks.checkpoint --model FOLDER [--corpus sst] [--texts 200 800 0] [--words 14] [--challenge NAME ...]

Every audit is a process of its own. 0 texts: all of them. With ``--words`` the texts are the first so many words of the
corpus's training texts that have as many, so that their number alone differs, and not the longest of them.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from attentest.data.corpora import CORPORA
from attentest.errors import AttentestError
from benchmarks import ended


class Spent(NamedTuple):
    """What an audit took."""

    texts: int
    cpu: float
    wall: float
    #: Mebibytes.
    peak: float


def audited(arguments: list[str]) -> Spent:
    """One audit into a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as runs:
        started = time.perf_counter()
        command = [sys.executable, "-m", "attentest", "audit", *arguments, "--device", "cpu", "--runs", runs]
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert child.stderr is not None
        said = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise AttentestError(said.decode().strip())
        wall = time.perf_counter() - started
        return Spent(_texts(runs), used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024)


def _texts(runs: str) -> int:
    return min(int(pq.read_metadata(path).num_rows) for path in Path(runs).glob("*/findings/instances.parquet"))


def cut(corpus: str, words: int, into: Path) -> None:
    """A file of the first words of all training texts that have so many."""
    loaded = CORPORA.parse(corpus).load()
    table = loaded.splits["train"].table
    with into.open("w", newline="", encoding="utf-8") as file:
        write = csv.writer(file).writerow
        write(["text", "label"])
        for tokens, label in zip(table["tokens"].to_pylist(), table["label"].to_pylist(), strict=True):
            if len(tokens) >= words:
                write([" ".join(tokens[:words]), loaded.classes[label]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--corpus", default="")
    parser.add_argument("--data", default="")
    parser.add_argument("--texts", type=int, nargs="+", default=[200, 800, 0])
    parser.add_argument("--words", type=int, default=0)
    parser.add_argument("--challenge", nargs="*", default=[])
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.words:
            given.data = str(Path(folder) / "texts.csv")
            cut(given.corpus or "sst", given.words, Path(given.data))
        measure(given)


def measure(given: argparse.Namespace) -> None:
    """Audit each number of texts, and print the table."""
    arguments = ["--model", given.model]
    arguments += ["--data", given.data] if given.data else ["--corpus", given.corpus or "sst"]
    arguments += [part for challenge in given.challenge for part in ("--challenge", challenge)]
    table = Table(title=f"Audit of {given.model}, {os.cpu_count()} cores", title_justify="left")
    for column in ("texts", "CPU seconds", "CPU seconds a text", "wall seconds", "peak memory, MiB"):
        table.add_column(column, justify="right")
    for limit in given.texts:
        spent = audited([*arguments, "--limit", str(limit)])
        each = spent.cpu / spent.texts
        table.add_row(f"{spent.texts:,}", f"{spent.cpu:.0f}", f"{each:.2f}", f"{spent.wall:.0f}", f"{spent.peak:,.0f}")
    Console().print(table)


if __name__ == "__main__":
    ended(main)

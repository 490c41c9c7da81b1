"""An audit of a Transformers checkpoint: seconds a text, and the most memory held, for several numbers of texts.

python -m benchmarks.checkpoint --model FOLDER [--corpus sst] [--texts 200 800 0] [--words 14] [--challenge NAME ...]

Every audit is a process of its own. 0 texts: all of them. With ``--words`` the texts are the first so many words of the
corpus's training texts that have as many, so that their number alone differs, and not the longest of them.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from attentest.data.corpora import CORPORA
from benchmarks import ended
from benchmarks.measuring import Spent, spent


def audited(arguments: list[str]) -> tuple[int, Spent]:
    """One audit into a folder that is thrown away: how many texts, and what it took."""
    with tempfile.TemporaryDirectory() as runs:
        command = [sys.executable, "-m", "attentest", "audit", *arguments, "--device", "cpu", "--runs", runs]
        took = spent(command)
        return _texts(runs), took


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
        texts, took = audited([*arguments, "--limit", str(limit)])
        each = took.cpu / texts
        table.add_row(f"{texts:,}", f"{took.cpu:.0f}", f"{each:.2f}", f"{took.wall:.0f}", f"{took.peak:,.0f}")
    Console().print(table)


if __name__ == "__main__":
    ended(main)

"""An audit of a file of many classes: seconds and the most memory held.

python -m benchmarks.classes [--classes 12 100 1000] [--texts 3] [--epochs 2]
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import ended

__all__ = ["write_classes"]


def write_classes(path: Path, classes: int, texts: int, words: int = 20, seed: int = 0) -> Path:
    """A CSV of text and label: so many texts of every class, each with two words that only its class has."""
    chance = random.Random(seed)
    common = [f"word{number}" for number in range(500)]
    rows = []
    for label in range(classes):
        for _ in range(texts):
            text = chance.choices(common, k=chance.randint(words // 2, words))
            for place in chance.sample(range(len(text)), 2):
                text[place] = f"sign{label}{chance.choice('ab')}"
            rows.append((" ".join(text), f"class {label}"))
    chance.shuffle(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label"))
        writer.writerows(rows)
    return path


def main() -> None:
    """One process for every number of classes, so that each has a peak of its own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--classes", type=int, nargs="+", default=[12, 100, 1000])
    parser.add_argument("--texts", type=int, default=6000, help="texts of the file, about as many of every class")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=200, help="texts that are examined")
    given = parser.parse_args()
    table = Table("classes", "texts", "examined", "seconds", "peak MB", title="An audit of many classes")
    with tempfile.TemporaryDirectory() as folder:
        for classes in given.classes:
            each = max(3, given.texts // classes)
            data = write_classes(Path(folder) / f"classes-{classes}.csv", classes, each)
            command = [sys.executable, "-m", "attentest", "audit", "--data", str(data), "--runs", folder]
            command += ["--epochs", str(given.epochs), "--limit", str(given.limit)]
            started = time.perf_counter()
            child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(child.pid, 0)
            if status:
                raise SystemExit(f"The audit of {classes} classes failed: {' '.join(command)}")
            seconds, peak = time.perf_counter() - started, usage.ru_maxrss // 1024
            table.add_row(*map(str, (classes, each * classes, given.limit, round(seconds), peak)))
    Console().print(table)


if __name__ == "__main__":
    ended(main)

"""Whole commands as people give them: seconds of the wall and of the processor, and the most memory held.

python -m benchmarks.commands [NAME ...] [--model FOLDER] [--out FILE.json]

*default*: `attentest audit`, on one core and on all, then `explain` and `check`. *reviews*: an audit of 60 reviews
of IMDB of 350 to 450 words. *checkpoint*: one of the Transformers classifier in ``--model``, on all test texts of SST.
Each is a process of its own, the source compiled before, the runs thrown away.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from attentest.data.corpora import CORPORA
from benchmarks import ended, measuring
from benchmarks.measuring import spent

ATTENTEST = (sys.executable, "-m", "attentest")
COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
#: What is explained.
TEXT = "the soup was good , but the waiter never came back"
#: Words of the long texts, how many of them there are, and how many are examined.
WORDS, TEXTS, EXAMINED = (350, 450), 300, 60

Row = dict[str, Any]


def took(what: str, command: list[str], cores: int) -> Row:
    """A line of the table."""
    used = spent(command, cores, **COMPILED)
    return {"what": what, "cores": cores, "wall": used.wall, "cpu": used.cpu, "peak MiB": used.peak}


def default(folder: Path, given: argparse.Namespace) -> Iterator[Row]:
    """The audit of somebody who names nothing, and what follows on it."""
    spent([*ATTENTEST, "audit", "--quiet", "--runs", str(folder / "warm")], **COMPILED)
    for cores in sorted({1, every()}):
        audit = [*ATTENTEST, "audit", "--quiet", "--runs", str(folder / f"default-{cores}")]
        yield took("audit of the built-in corpus, training included", audit, cores)
    (run,) = (path.parent for path in (folder / f"default-{every()}").glob("*/run.json"))
    yield took("explain a text of it", [*ATTENTEST, "explain", "--model", str(run), TEXT], every())
    yield took("check it", [*ATTENTEST, "check", str(run), "--require", "check=with-care"], every())


def reviews(folder: Path, given: argparse.Namespace) -> Iterator[Row]:
    """Long texts."""
    corpus = CORPORA.parse("imdb(tokens='words')").load()
    table, low_high = corpus.splits["train"].table, range(WORDS[0], WORDS[1] + 1)
    with (folder / "reviews.csv").open("w", newline="", encoding="utf-8") as file:
        writer, left = csv.writer(file), TEXTS
        writer.writerow(("text", "label"))
        for tokens, label in zip(table["tokens"].to_pylist(), table["label"].to_pylist(), strict=True):
            if left and len(tokens) in low_high:
                writer.writerow((" ".join(tokens), corpus.classes[label]))
                left -= 1
    audit = [*ATTENTEST, "audit", "--quiet", "--data", str(folder / "reviews.csv"), "--tokenizer", "whitespace"]
    asked = ["--encoder", "bilstm", "--epochs", "1", "--limit", str(EXAMINED), "--runs", str(folder)]
    yield took(f"audit of {EXAMINED} reviews of 350 to 450 words, BiLSTM, one epoch", [*audit, *asked], every())


def checkpoint(folder: Path, given: argparse.Namespace) -> Iterator[Row]:
    """A fine-tuned checkpoint."""
    if given.model is None:
        raise SystemExit("Name a fine-tuned checkpoint: --model FOLDER (attentest fine-tune makes one).")
    audit = [*ATTENTEST, "audit", "--quiet", "--model", given.model, "--corpus", "sst", "--runs", str(folder)]
    yield took("audit of a fine-tuned MiniLM, all test texts of SST", audit, every())


def every() -> int:
    """All cores that this process may use."""
    return len(os.sched_getaffinity(0))


COMMANDS: dict[str, Callable[[Path, argparse.Namespace], Iterator[Row]]] = {
    "default": default,
    "reviews": reviews,
    "checkpoint": checkpoint,
}


def main() -> None:
    """Every command that was asked for, kept as it ends."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commands", nargs="*", default=[*COMMANDS], help=f"some of {', '.join(COMMANDS)}")
    parser.add_argument("--model", help="a fine-tuned Transformers classifier of SST: its folder")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if unknown := [name for name in given.commands if name not in COMMANDS]:
        parser.error(f"there is no command {unknown[0]!r}: choose from {', '.join(COMMANDS)}")
    rows: list[Row] = []
    table = Table("what", "cores", "wall, s", "processor, s", "peak MiB")
    with tempfile.TemporaryDirectory() as folder:
        for name in given.commands:
            for row in COMMANDS[name](Path(folder), given):
                rows.append(row)
                table.add_row(
                    row["what"], str(row["cores"]), f"{row['wall']:.1f}", f"{row['cpu']:.1f}", f"{row['peak MiB']:.0f}"
                )
                if given.out:
                    measuring.write_record(given.out, measuring.machine(), rows)
    Console().print(table)


if __name__ == "__main__":
    ended(main)

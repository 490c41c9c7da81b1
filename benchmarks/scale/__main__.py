"""How cost grows: seconds of the processor and the most memory held, against texts, tokens and classes.

python -m benchmarks.scale [texts audits tokens classes] [--out FILE.json]

*texts*: findings of so many texts written, and a query of the most attackable ten. *audits*: what Jain & Wallace ask,
of so many texts. *tokens*: an audit of a file whose texts are so long, two of them examined. *classes*: an audit of a
file of so many classes. Each in a process of its own.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from attentest.store.findings import FindingsWriter, Measure
from attentest.store.folder import RunFolder
from benchmarks import ended, measuring
from benchmarks.measuring import spent

TEXTS = (100, 1_000, 10_000, 100_000, 1_000_000)
#: Texts that a small model is examined on.
EXAMINED = (100, 1_000, 10_000, 100_000)
TOKENS = (20, 100, 400, 1_000, 4_000)
CLASSES = (2, 12, 100, 1_000)
#: Rows that are written at a time.
CHUNK = 2_048
ATTENTEST = (sys.executable, "-m", "attentest")
QUERY = "SELECT id, ratio FROM adversary ORDER BY ratio DESC LIMIT 10"


def written(folder: Path, texts: int) -> float:
    """Findings of so many texts, a chunk at a time: seconds of the processor."""
    run = RunFolder.create(folder, {"corpus": "made-up"}, {})
    (folder / "findings").mkdir(exist_ok=True)
    chance, started = np.random.default_rng(0), time.process_time()
    measure = Measure("ratio", "ratio", "mean", "the divergence, of the largest possible")
    with FindingsWriter(folder / "findings/adversary.parquet", "adversary", (measure,)) as writer:
        for first in range(0, texts, CHUNK):
            rows = range(first, min(first + CHUNK, texts))
            numbers = {name: chance.random(len(rows)) for name in ("ratio", "divergence", "unconstrained", "share")}
            ids = [f"text/{row}" for row in rows]
            writer.write(pa.table({"row": pa.array(rows, pa.int32()), "id": ids, **numbers}))
    run.finish("findings/adversary.parquet")
    return time.process_time() - started


def by_texts(folder: Path) -> Iterator[dict[str, Any]]:
    """Writing, and one query."""
    written(folder / "warm", CHUNK)
    for texts in TEXTS:
        run = folder / f"texts-{texts}"
        seconds = written(run, texts)
        disk = (run / "findings/adversary.parquet").stat().st_size / 2**20
        yield {"what": "findings written", "size": texts, "seconds": seconds, "disk MiB": disk}
        took = spent([*ATTENTEST, "show", str(run), "--sql", QUERY], OMP_NUM_THREADS="1")
        yield {"what": "query", "size": texts, "seconds": took.cpu, "peak MiB": took.peak}


def by_audits(folder: Path) -> Iterator[dict[str, Any]]:
    """Audits of a small model: what Jain & Wallace ask, of so many texts of 10 to 20 words."""
    data = write_classes(folder / "audits.csv", 2, 1_000)
    for texts in EXAMINED:
        test = write_classes(folder / f"audits-{texts}.csv", 2, texts // 2, seed=1)
        audit = [*ATTENTEST, "audit", "--data", str(data), "--test", str(test), "--runs", str(folder), "--epochs", "1"]
        audit += ["--encoder", "bilstm(hidden=16)", "--embedding", "32", "--limit", "0", "--quiet"]
        audit += ["--challenge", "agreement", "--challenge", "permutation", "--challenge", "adversary"]
        took = spent(audit, OMP_NUM_THREADS="1")
        yield {"what": "audit of a small model", "size": texts, "seconds": took.cpu, "peak MiB": took.peak}


def by_tokens(folder: Path) -> Iterator[dict[str, Any]]:
    """Whole audits, training included."""
    for tokens in TOKENS:
        data, chance = folder / f"tokens-{tokens}.csv", random.Random(0)
        with data.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("text", "label"))
            for number in range(40):
                words = [f"word{chance.randrange(500)}" for _ in range(tokens - 1)]
                words.insert(chance.randrange(tokens), "good" if number % 2 else "bad")
                writer.writerow((" ".join(words), "positive" if number % 2 else "negative"))
        audit = [*ATTENTEST, "audit", "--data", str(data), "--runs", str(folder), "--epochs", "1", "--limit", "2"]
        took = spent([*audit, "--tokenizer", "whitespace", "--max-tokens", str(tokens), "--quiet"], OMP_NUM_THREADS="1")
        yield {"what": "audit of 2 texts", "size": tokens, "seconds": took.cpu, "peak MiB": took.peak}


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


def by_classes(folder: Path) -> Iterator[dict[str, Any]]:
    """Whole audits, training included."""
    for classes in CLASSES:
        data = write_classes(folder / f"classes-{classes}.csv", classes, max(3, 3_000 // classes))
        audit = [*ATTENTEST, "audit", "--data", str(data), "--runs", str(folder), "--epochs", "1", "--limit", "50"]
        took = spent([*audit, "--quiet"], OMP_NUM_THREADS="1")
        yield {"what": "audit of 50 texts", "size": classes, "seconds": took.cpu, "peak MiB": took.peak}


CURVES: dict[str, Callable[[Path], Iterator[dict[str, Any]]]] = {
    "texts": by_texts,
    "audits": by_audits,
    "tokens": by_tokens,
    "classes": by_classes,
}


def main() -> None:
    """Every curve that was asked for, kept as it grows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("curves", nargs="*", default=[*CURVES], help=f"some of {', '.join(CURVES)}")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if unknown := [name for name in given.curves if name not in CURVES]:
        parser.error(f"there is no curve {unknown[0]!r}: choose from {', '.join(CURVES)}")
    rows = []
    table = Table("against", "size", "what", "seconds", "peak MiB")
    with tempfile.TemporaryDirectory() as folder:
        for curve in given.curves:
            for row in CURVES[curve](Path(folder)):
                rows.append({"against": curve, **row})
                peak = f"{row['peak MiB']:.0f}" if "peak MiB" in row else ""
                table.add_row(curve, f"{row['size']:,}", row["what"], f"{row['seconds']:.2f}", peak)
                if given.out:
                    measuring.write_record(given.out, measuring.machine(), rows)
    Console().print(table)


if __name__ == "__main__":
    ended(main)

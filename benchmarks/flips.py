"""How many weights must go before a decision flips: every text of a corpus, beside the papers' loop, in one run.

python -m benchmarks.flips [--corpus imdb] [--train 4000] [--sample 200] [--out FILE.json]

The loop is timed on a random sample of texts and scaled to all of them; ours is timed on all of them, and finds the
smallest set as well, which the loop does not.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from rich.console import Console
from rich.table import Table

from attentest.challenges.challenge import Examination
from attentest.challenges.flip_sets.examine import SCORED, FlipSets
from attentest.data.batches import Batch, Encoded, bucketed
from attentest.data.corpora import CORPORA
from attentest.data.corpus import Corpus
from attentest.data.vocabulary import Vocabulary
from attentest.models.networks.classifier import Architecture, Classifier
from attentest.training.loop import Training, fit
from benchmarks import ended, literal

A = TypeVar("A")
B = TypeVar("B")


def trained(corpus: Corpus, texts: int) -> tuple[Classifier, Encoded, float]:
    """A BiLSTM after one epoch on some of the training texts, the encoded test split, and its accuracy there."""
    vocabulary = Vocabulary.from_split(corpus["train"], corpus.min_frequency)
    rows = np.random.default_rng(0).permutation(len(corpus["train"]))[:texts]
    train = Encoded.of(corpus["train"].take(sorted(rows.tolist())), vocabulary)
    dev = Encoded.of(corpus["dev"].take(list(range(min(500, len(corpus["dev"]))))), vocabulary)
    model = Classifier(Architecture(), len(vocabulary), len(corpus.classes), torch.Generator().manual_seed(0))
    fit(model, train, dev, Training(epochs=1), seed=0)
    model.eval()
    test = Encoded.of(corpus["test"], vocabulary)
    right = 0
    with torch.no_grad():
        for batch in (batch for chunk in bucketed(test) for batch in chunk):
            right += int((model.read(batch).predicted == batch.labels).sum())
    return model, test, right / len(test)


class Clock:
    """CPU seconds spent on reading texts and on taking weights away; others on the machine do not count."""

    def __init__(self) -> None:
        self.reading = self.erasing = 0.0

    def timed(self, read: Callable[[], A], erase: Callable[[A], B]) -> B:
        started = time.process_time()
        have = read()
        between = time.process_time()
        found = erase(have)
        self.reading += between - started
        self.erasing += time.process_time() - between
        return found


@torch.no_grad()
def ours(model: Classifier, test: Encoded, clock: Clock) -> list[pa.Table]:
    """The findings of every text."""

    def findings(batch: Batch) -> pa.Table:
        return clock.timed(
            lambda: Examination(model, batch, model.read(batch), 0, None), lambda have: FlipSets().examine(have)
        )

    return [findings(batch) for chunk in bucketed(test) for batch in chunk]


def theirs(packed: literal.Packed, test: Encoded, rows: np.ndarray, clock: Clock) -> dict[int, list[int]]:
    """What the loop removes in each order, text by text."""

    def removed(row: int) -> list[int]:
        batch = test.batch(np.array([row]))
        return clock.timed(lambda: literal.encoded(packed, batch), lambda have: literal.flip_set(packed, *have))

    return {row: removed(row) for row in rows.tolist()}


def removed_by(tables: list[pa.Table]) -> tuple[dict[int, list[int]], float]:
    """What every text's scored orders remove (0: never), and the mean share removed in the order of attention."""
    found = pa.concat_tables(tables)
    found = found.filter(pc.is_null(found["not_judged"]))
    parts = [found.filter(pc.equal(found["order"], order)).sort_by("row") for order in SCORED]
    counts = [pc.fill_null(part["removed"], 0).to_numpy().astype(int) for part in parts]
    rows = parts[0]["row"].to_pylist()
    each = {row: list(of) for row, of in zip(rows, np.stack(counts, axis=1).tolist(), strict=True)}
    return each, float(pc.mean(parts[0]["until_flip"]).as_py())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="imdb")
    parser.add_argument("--train", type=int, default=4000, help="training texts")
    parser.add_argument("--sample", type=int, default=200, help="texts that the loop is timed on")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    console = Console()
    with console.status(f"Training on {given.train:,} texts …"):
        corpus = CORPORA.parse(given.corpus).load()
        model, test, accuracy = trained(corpus, given.train)
    here, there = Clock(), Clock()
    with console.status("All texts, all orders and the smallest set …"):
        found, share = removed_by(ours(model, test, here))
    rows = np.sort(np.random.default_rng(1).permutation(len(test))[: given.sample])
    with console.status(f"The loop on {len(rows)} texts …"):
        looped = theirs(literal.Packed(model), test, rows, there)
    pairs = [(a, b) for row, loop in looped.items() if row in found for a, b in zip(found[row], loop, strict=False)]
    same = sum(a == b for a, b in pairs)
    scale = len(test) / len(rows)
    name, beside = f"flip sets of {len(test):,} texts", f"loop over items, text by text; {len(rows)} texts, scaled"
    work = [
        (f"{name}: 8 orders and the smallest set", f"{beside}: 8 orders", there.erasing * scale, here.erasing),
        (
            "the same, reading the texts included",
            "the same",
            (there.reading + there.erasing) * scale,
            here.reading + here.erasing,
        ),
    ]
    table = Table("work", "beside", "theirs, s", "ours, s", "times faster")
    for one, other, slow, fast in work:
        table.add_row(one, other, f"{slow:.1f}", f"{fast:.2f}", f"{slow / fast:.0f}")
    console.print(table)
    console.print(
        f"the same count in {same:,} of {len(pairs):,} comparisons (attention, gradient, gradient × attention)"
    )
    about = (
        f"{corpus.name}, BiLSTM after one epoch on {given.train:,} texts (accuracy {accuracy:.3f}), one thread, "
        f"torch {torch.__version__}, {platform.machine()}; in the order of attention {share:.3f} of the items go"
    )
    console.print(about)
    if given.out:
        names = ("work", "beside", "theirs", "ours")
        kept = [{**dict(zip(names, row, strict=True)), "ratio": row[2] / row[3]} for row in work]
        record = {"about": about, "rows": kept, "same": same, "compared": len(pairs)}
        given.out.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    ended(main)

"""Which weight of tying and of masked language modelling does best on dev: from the runs of the study tutek_sweep.

python -m attentest.papers.tutek_snajder_2020.sweep RUNS prints a table, one row a run, the chosen ones marked.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attentest.errors import InputError, StorageError
from attentest.papers.evidence import parameters
from attentest.store.folder import RunFolder, runs_in

__all__ = ["Tried", "chosen", "tried"]

MODEL = "model.safetensors"


@dataclass(frozen=True)
class Tried:
    """One training with one term."""

    corpus: str
    attention: str
    term: str
    dev_f1: float
    epoch: int
    run: str
    chosen: bool = False

    @property
    def kind(self) -> tuple[str, str, str]:
        """What its weight is chosen for: corpus, attention, the name of the term; a sum over a text is never chosen."""
        return self.corpus, self.attention, "" if "per" in parameters(self.term) else self.term.partition("(")[0]

    @property
    def weight(self) -> float:
        """δ or η; a term's text leaves out a weight that is its default."""
        from attentest.training.terms import TERMS  # torch comes with it

        return float(TERMS.parse(self.term).weight)  # type: ignore[attr-defined]


def tried(runs: Path) -> Iterator[Tried]:
    """The trainings with one term among finished runs, by their records."""
    for folder in runs_in(runs):
        try:
            record = folder.record
        except StorageError:
            continue
        terms = record["fields"].get("training", {}).get("terms", [])
        if len(terms) == 1 and MODEL in record["finished"]:
            yield _tried(folder, record, terms[0])


def _tried(folder: RunFolder, record: dict[str, Any], term: str) -> Tried:
    fields, about = record["fields"], record["finished"][MODEL]
    score = next(epoch["score"] for epoch in about["epochs"] if epoch["number"] == about["best_epoch"])
    name, attention = fields["corpus"]["name"], fields["model"]["attention"]
    return Tried(name, attention, term, score, about["best_epoch"], folder.path.name)


def chosen(found: Iterable[Tried]) -> list[Tried]:
    """All of them in order, those marked that have the highest dev score of their kind; of equal ones, the larger."""
    ordered = sorted(found, key=lambda one: (one.kind, one.weight, one.term, one.run))
    best = {one.kind: one for one in sorted(ordered, key=lambda one: (one.dev_f1, one.weight)) if one.kind[2]}
    return [replace(one, chosen=best.get(one.kind) == one) for one in ordered]


def main(runs: Path) -> None:
    """Print the table."""
    found = chosen(tried(runs))
    if not found:
        raise InputError(f"{runs} has no run with one loss term. Run 'attentest study run tutek_sweep' first.")
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["corpus", "attention", "term", "dev_f1", "epoch", "chosen"])
    for one in found:
        marked = "yes" if one.chosen else ""
        table.writerow([one.corpus, one.attention, one.term, f"{one.dev_f1:.4f}", one.epoch, marked])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs"))

"""Accuracy by the number of training texts, beside the published number, from runs of the study learning_curves.

    python scripts/seeds/learning_curves.py RUNS

``learning_curves.csv`` in the folder of Vashishth et al. has a row for every corpus, number of training texts and seed.
Corpora that have no run in RUNS stay as they are. Printed are means over seeds with Student's 95 % interval, and what
the rule of the study asks for: the line through the last three points over the logarithm of the number of texts, at
the published number.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.compute  # noqa: F401 - findings filter with it
from seeds_table import Row, completed

from attentest.papers import PAPERS
from attentest.statistics.seeds import half_width
from attentest.store.folder import runs_in
from attentest.store.summary import estimate

TABLE = PAPERS["vashishth_2019"].folder / "learning_curves.csv"
FIELDS = ("corpus", "training", "seed", "accuracy", "texts")
#: How many texts the paper trained on.
PUBLISHED = {"ag_news": 60_000, "snli": 549_367}
#: So many points the line goes through.
LAST = 3


def rows_of(root: Path) -> Iterator[Row]:
    """A row for every run of the study."""
    for folder in runs_in(root):
        fields = folder.record["fields"]
        corpus, named = fields["corpus"], folder.named("instances")
        if named is None or fields.get("challenges") != ["instances(per_token=False)"]:
            continue
        if corpus["name"] in (*PUBLISHED, "snli_hypotheses"):
            found = estimate(folder.findings(named), "accuracy")
            chosen = (corpus["name"], corpus["sizes"]["train"], fields["seed"], f"{found.value:.4f}", found.judged)
            yield dict(zip(FIELDS, map(str, chosen), strict=True))


def by_seed(rows: Sequence[Row], corpus: str) -> dict[int, dict[int, float]]:
    """Accuracy by seed and number of training texts."""
    found: dict[int, dict[int, float]] = defaultdict(dict)
    for row in rows:
        if row["corpus"] == corpus:
            found[int(row["seed"])][int(row["training"])] = float(row["accuracy"])
    return found


def extended(points: dict[int, float], to: int) -> float:
    """The line through the last points over the logarithm of the number of texts, at another number."""
    last = sorted(points)[-LAST:]
    slope, intercept = np.polyfit(np.log(last), [points[size] for size in last], 1)
    return float(intercept + slope * np.log(to))


def lines(rows: Sequence[Row], corpus: str) -> Iterator[str]:
    """The page's table of one corpus: every number of texts, and the published one."""
    seeds = by_seed(rows, corpus)
    columns = {size: [points[size] for points in seeds.values()] for size in sorted(next(iter(seeds.values())))}
    if corpus in PUBLISHED and len(columns) >= LAST:
        columns[PUBLISHED[corpus]] = [extended(points, PUBLISHED[corpus]) for points in seeds.values()]
    for size, found in columns.items():
        yield f"| {size:,} | {100 * np.mean(found):.1f} ± {100 * half_width([(1.0, found)]):.1f} |"


def main() -> None:
    """Read the runs, complete the table, print the page's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    made = rows_of(parser.parse_args().runs)
    rows = completed(TABLE, FIELDS, made, lambda row: (row["corpus"], int(row["training"]), int(row["seed"])))
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        print(f"\n{corpus}", *lines(rows, corpus), sep="\n")


if __name__ == "__main__":
    main()

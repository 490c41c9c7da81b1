"""What altered weights cost flat and hierarchical models, words and sentences apart, from runs of hierarchical_levels.

    python scripts/seeds/hierarchical_levels.py RUNS

``hierarchical_levels.csv`` in the folder of Vashishth et al. has a row for every corpus, model, level and seed:
accuracy, and by how much other weights change it. Corpora that have no run in RUNS stay as they are. Printed are means
over seeds with Student's 95 % interval, in points.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute  # noqa: F401 - findings filter with it
from seeds_table import Row, completed

from attentest.papers import PAPERS
from attentest.statistics.seeds import half_width
from attentest.store.folder import RunFolder, runs_in
from attentest.store.summary import estimate

TABLE = PAPERS["vashishth_2019"].folder / "hierarchical_levels.csv"
KEY = ("corpus", "structure", "site", "seed")
#: The last attention before the output.
LAST = {"flat": "word", "hierarchical": "sentence"}
#: What is altered: the challenge, and its measure of accuracy then.
ALTERED = {
    "uniform_trained": ("trained_uniform", "accuracy_uniform"),
    "random_trained": ("trained_random", "accuracy_random"),
    "uniform": ("uniform", "accuracy_uniform"),
    "random": ("random_weights", "accuracy_random"),
    "permuted": ("permutation", "accuracy_permuted"),
}


def rows_of(root: Path) -> Iterator[Row]:
    """A row for every run of the study."""
    for folder in runs_in(root):
        fields = folder.record["fields"]
        if not all(folder.named(name) for name in ("uniform", "random_weights", "permutation", "single_weight")):
            continue
        right = _accuracy(folder, "instances", "accuracy")
        assert right is not None
        changed = {name: _accuracy(folder, *of) for name, of in ALTERED.items()}
        told = {name: "" if found is None else f"{found - right:.4f}" for name, found in changed.items()}
        chosen = (fields["corpus"]["name"], *level_of(fields), str(fields["seed"]))
        yield {**dict(zip(KEY, chosen, strict=True)), "accuracy": f"{right:.4f}", **told}


def level_of(fields: Mapping[str, Any]) -> tuple[str, str]:
    """The structure of a run's model, and whose weights are altered: a record names no site where it is the last."""
    structure = fields["model"].get("structure", "flat")
    return structure, fields.get("site") or LAST[structure]


def _accuracy(folder: RunFolder, challenge: str, measure: str) -> float | None:
    named = folder.named(challenge)
    return None if named is None else estimate(folder.findings(named), measure).value


def lines(rows: Sequence[Row], corpus: str) -> Iterator[str]:
    """The page's table of one corpus."""
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        if row["corpus"] == corpus:
            found[row["structure"], row["site"]].append(row)
    for (structure, site), seeds in sorted(found.items()):
        cells = []
        for name in ("accuracy", *ALTERED):
            values = [100 * float(row[name]) for row in seeds if row[name]]
            cells.append(f"{np.mean(values):.1f} ± {half_width([(1.0, values)]):.1f}" if values else "")
        yield f"| {structure}, {site} | {' | '.join(cells).replace('-', '−')} |"


def main() -> None:
    """Read the runs, complete the table, print the page's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    rows = completed(TABLE, (*KEY, "accuracy", *ALTERED), rows_of(parser.parse_args().runs), itemgetter(*KEY))
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        print(f"\n{corpus}", *lines(rows, corpus), sep="\n")


if __name__ == "__main__":
    main()

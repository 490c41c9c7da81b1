"""By how much the published search falls short, from runs of the study search_shortfall.

    python scripts/seeds/search_shortfall.py RUNS

``search_shortfall.csv`` in the folder of Jain & Wallace has a row for every corpus and seed, of means over texts: what
the search reached, where it found anything; the share of texts where it did not; the divergence that was found, and
that there is at most; the share of texts where both are the same; by how much the search lacks what was found, its
standard error, and the share of texts where that is more than .05. Corpora that have no run in RUNS stay as they are.
Printed are the page's lines, and what the rule in the study's file says.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
from seeds_table import AGREES, NOT, UNSETTLED, Row, completed, estimated, figures, once, told

from attentest.papers import PAPERS
from attentest.store.folder import RunFolder, runs_in

TABLE = PAPERS["jain_wallace_2019"].folder / "search_shortfall.csv"
KEY = ("corpus", "seed")
FIELDS = (
    *(*KEY, "texts", "searched", "failed", "found", "at_most", "certified", "shortfall", "short_by_05"),
    "standard_error",
)
#: What the page shows, and by how much the search must lack for it to fall short.
SHOWN, MARK = ("searched", "found", "shortfall", "short_by_05"), 0.05


def rows_of(root: Path) -> Iterator[Row]:
    """A row for every run of the study."""
    for folder in runs_in(root):
        fields, named = folder.record["fields"], folder.named("adversary")
        if named is not None and "per_token=False" in named and "search=False" not in named:
            yield {"corpus": fields["corpus"]["name"], "seed": str(fields["seed"]), **figures_of(folder, named)}


def figures_of(folder: RunFolder, named: str) -> Row:
    """The means over the texts that could be judged."""
    table = folder.findings(named).table
    judged = table.filter(pc.is_null(table["not_judged"]))
    columns = {name: judged[name].to_numpy().astype(float) for name in ("lower", "upper", "certified", "shortfall")}
    searched = np.array([np.nan if one is None else one for one in judged["searched_divergence"].to_pylist()])
    lacking = columns["shortfall"]
    found = {
        "searched": np.nanmean(searched),
        "failed": np.mean(judged["search_failed"].to_numpy()),
        "found": np.mean(columns["lower"]),
        "at_most": np.mean(columns["upper"]),
        "certified": np.mean(columns["certified"]),
        "shortfall": np.mean(lacking),
        "short_by_05": np.mean(lacking > MARK),
    }
    error = lacking.std(ddof=1) / np.sqrt(len(lacking))
    rounded = {name: f"{value:.4f}" for name, value in found.items()}
    return {"texts": str(len(lacking)), **rounded, "standard_error": f"{error:.5f}"}


def lines(rows: Sequence[Row], corpus: str) -> Iterator[str]:
    """The page's line of a corpus, and what the rule says of it."""
    cells = [told(*estimated((1.0, figures(rows, name, corpus=corpus))), digits=3) for name in SHOWN]
    yield f"| {' | '.join([corpus, *cells])} |"
    value, half = estimated((1.0, figures(rows, "shortfall", corpus=corpus)))
    # The wider of two intervals: over seeds, and over the texts of one seed.
    half = max(half, 1.96 * max(figures(rows, "standard_error", corpus=corpus)))
    said = AGREES if value - half >= MARK else NOT if value + half < MARK else UNSETTLED
    yield f"falls short: {said}"


def main() -> None:
    """Read the runs, complete the table, print the page's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    made = once(rows_of(parser.parse_args().runs), KEY)
    rows = completed(TABLE, FIELDS, made, lambda row: tuple(row[name] for name in KEY))
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        print(f"\n{corpus}", *lines(rows, corpus), sep="\n")


if __name__ == "__main__":
    main()

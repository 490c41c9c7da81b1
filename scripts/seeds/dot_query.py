"""The seeds of Jain & Wallace's page on dot attention's query, from runs of the study dot_query.

    python scripts/seeds/dot_query.py RUNS

``dot_query.csv`` in the paper's folder has a row for every corpus, attention, query and seed: τ of attention with
gradients and with leave-one-out, the median change under shuffled weights, the largest weight (and what it would be in
uniform attention) and accuracy, as means over texts. Corpora that have no run in RUNS stay as they are. The page's
tables are printed: means over seeds with Student's 95 % interval, and differences in τ from additive attention.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow.compute  # noqa: F401 - findings filter with it
from seeds_table import Row, completed

from attentest.papers import PAPERS
from attentest.statistics.seeds import half_width
from attentest.store.folder import RunFolder, runs_in

TABLE = PAPERS["jain_wallace_2019"].folder / "dot_query.csv"
KEY = ("corpus", "attention", "query", "seed")
FIGURES = ("tau_gradient", "tau_leave_one_out", "median_change", "max_attention", "accuracy")
#: What the page calls a model, in the order of its tables.
NAMES = {
    ("additive", ""): "additive",
    ("dot", ""): "dot, query as released",
    ("dot(init='normal')", ""): "dot, query from N(0, 1)",
    ("additive", "own"): "additive, the text's own state as query",
    ("dot", "own"): "dot, the text's own state as query",
}
#: The challenge and the column or measure that a figure is the mean of.
FOUND = {
    "tau_gradient": ("agreement", "attention~gradient.tau"),
    "tau_leave_one_out": ("agreement", "attention~leave_one_out.tau"),
    "median_change": ("permutation", "median_change"),
    "max_attention": ("permutation", "max_attention"),
    "accuracy": ("instances", "accuracy"),
}


def rows_of(root: Path) -> Iterator[Row]:
    """A row for every run that is one of the study's models."""
    for folder in runs_in(root):
        fields = folder.record["fields"]
        model = fields["model"]
        asked = all(folder.named(name) for name, _ in FOUND.values())
        if asked and str(model["encoder"]).partition("(")[0] == "bilstm":
            query = "own" if model.get("query") else ""
            figures = {name: f"{np.nanmean(_values(folder, *of)):.4f}" for name, of in FOUND.items()}
            tokens = _values(folder, "permutation", "tokens")
            chosen = (fields["corpus"]["name"], str(model["attention"]), query, str(fields["seed"]))
            about = {"uniform": f"{np.mean(1 / tokens):.4f}", "texts": str(len(tokens))}
            yield {**dict(zip(KEY, chosen, strict=True)), **figures, **about}


def _values(folder: RunFolder, challenge: str, name: str) -> np.ndarray:
    """One figure of every judged text."""
    named = folder.named(challenge)
    assert named is not None
    findings = folder.findings(named)
    measure = None if name in findings.table.column_names else findings[name]
    table = findings.table if measure is None else findings.rows(measure.where)
    column = table[name if measure is None else measure.column].to_pylist()
    judged = [why is None for why in table["not_judged"].to_pylist()]
    pairs = zip(column, judged, strict=True)
    return np.array([np.nan if value is None else float(value) for value, kept in pairs if kept])


def lines(rows: list[Row], corpus: str) -> Iterator[str]:
    """The page's table of one corpus."""
    found: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    for row in rows:
        if row["corpus"] == corpus:
            found[row["attention"], row["query"]].append([float(row[name]) for name in FIGURES])
    for key, name in NAMES.items():
        if key in found:
            columns = list(zip(*found[key], strict=True))
            cells = [f"{np.mean(one):.3f} ± {half_width([(1.0, one)]):.3f}".replace("0.", ".") for one in columns]
            yield f"| {name} | {' | '.join(cells)} |"
    beside = [one[0] for one in found["additive", ""]]
    for key, name in NAMES.items():
        if key in found and key != ("additive", ""):
            own = [one[0] for one in found[key]]
            half = half_width([(1.0, own), (-1.0, beside)])
            yield f"τ with gradients − additive: {np.mean(own) - np.mean(beside):.3f} ± {half:.3f} {name}"


def main() -> None:
    """Read the runs, complete the table, print the page's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    fields = (*KEY, *FIGURES, "uniform", "texts")
    rows = completed(TABLE, fields, rows_of(parser.parse_args().runs), itemgetter(*KEY))
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        print(f"\n{corpus}", *lines(rows, corpus), sep="\n")


if __name__ == "__main__":
    main()

"""Adversaries that imitate Tutek & Šnajder's models, from runs of the study tutek_snajder_imitation.

    python scripts/imitation.py RUNS

``imitation.csv`` in the paper's folder has a row for every corpus, model, λ and seed: how far the adversary's
predictions (TVD) and attention (JSD) lie from the model's, as means over test texts. Corpora that have no run in RUNS
stay as they are. The page's table is printed, judged by the rule in the study's file: means over seeds, and the
difference of the two models' TVD with Welch's 95 % interval.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np
from seeds_table import Row, completed

from attentest.papers import PAPERS
from attentest.statistics.seeds import half_width
from attentest.store.folder import RunFolder, runs_in

TABLE = PAPERS["tutek_snajder_2020"].folder / "imitation.csv"
CHALLENGE = "adversarial_training"
FIELDS = ("corpus", "model", "weight", "seed", "tvd", "jsd", "texts")
MODELS = ("base", "mlm")
#: Where both adversaries attend farther away than this, their TVDs are compared.
FAR = 0.1


def rows_of(root: Path) -> Iterator[Row]:
    """A row for every adversary of the study's models."""
    for folder in runs_in(root):
        named = folder.named(CHALLENGE)
        if named is not None and "divergence=jsd" in named:
            yield from _of_run(folder, named)


def _of_run(folder: RunFolder, named: str) -> Iterator[Row]:
    fields = folder.record["fields"]
    terms = fields["training"].get("terms") or ()
    model = str(terms[0]).partition("(")[0] if terms else MODELS[0]
    table = folder.findings(named).table
    judged = np.array([why is None for why in table["not_judged"].to_pylist()])
    weights, tvd, jsd = (table[name].to_numpy()[judged] for name in ("weight", "tvd", "jsd"))
    for weight in np.unique(weights):
        here = weights == weight
        about = fields["corpus"]["name"], model, f"{weight:g}", str(fields["seed"])
        found = f"{tvd[here].mean():.4f}", f"{jsd[here].mean():.4f}", str(here.sum())
        yield dict(zip(FIELDS, (*about, *found), strict=True))


def compared(rows: Sequence[Row], corpus: str) -> Iterator[tuple[str, dict[str, np.ndarray], float, float]]:
    """Every λ: the figures of both models, seed by seed, the difference of their TVD and half its interval."""
    found: dict[str, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["corpus"] == corpus:
            found[row["weight"]][row["model"]].append([float(row["tvd"]), float(row["jsd"])])
    for weight in sorted(found, key=float):
        figures = {model: np.array(found[weight][model]) for model in MODELS}
        base, other = (list(figures[model][:, 0]) for model in MODELS)
        yield weight, figures, float(np.mean(other) - np.mean(base)), half_width([(1.0, other), (-1.0, base)])


def outcome(rows: Sequence[Row], corpus: str) -> str:
    """What the rule says of a corpus."""
    far = [
        (apart - half, apart + half)
        for _, figures, apart, half in compared(rows, corpus)
        if min(found[:, 1].mean() for found in figures.values()) > FAR
    ]
    if any(math.isnan(low) for low, _ in far) or not far:
        return "unsettled"
    return (
        "differs" if any(high < 0 for _, high in far) else "agrees" if all(low > 0 for low, _ in far) else "unsettled"
    )


def lines(rows: Sequence[Row], corpus: str) -> Iterator[str]:
    """The page's table of one corpus."""
    for weight, figures, apart, half in compared(rows, corpus):
        means = [f"{mean:.3f}" for model in MODELS for mean in figures[model].mean(0)]
        cells = [f"{weight}", *means, f"{apart:.3f} ± {half:.3f}"]
        yield f"| {' | '.join(cells)} |".replace(" 0.", " .").replace("-0.", "−.")


def main() -> None:
    """Read the runs, complete the table, print the page's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", type=Path)
    rows = completed(TABLE, FIELDS, rows_of(parser.parse_args().runs), itemgetter(*FIELDS[:4]))
    for corpus in dict.fromkeys(row["corpus"] for row in rows):
        print(f"\n{corpus}: {outcome(rows, corpus)}", *lines(rows, corpus), sep="\n")


if __name__ == "__main__":
    main()

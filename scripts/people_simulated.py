"""The tables of docs/explanation/people-simulated.md: the paper's Figure 5 beside what simulated annotators answer.

    python scripts/people_simulated.py IMDB=people/imdb bAbI=people/babi --to docs/people

``simulated.csv`` has the cells and κ of the annotators that each study holds; ``kappa.csv`` the κ that more of them,
at other slip rates, should have and have.
"""

from __future__ import annotations

import argparse
import csv
import math
import shutil
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score

from attentest.papers import PAPERS
from attentest.people import PeopleStudy
from attentest.people.results.answered import answered
from attentest.people.results.results import results_of
from attentest.people.simulated import expected_agreement, simulate
from attentest.store.atomic import replacing

CELLS = ("corpus", "run_corpus", "figure", "paper", "simulated", "low", "high", "answers", "expected")
KAPPAS = ("corpus", "planted_yes", "slip", "expected", "given", "standard_error", "annotators")
SLIPS, MANY = (0.02, 0.05, 0.1, 0.2), 30


def cells_of(corpus: str, study: PeopleStudy, paper: dict[tuple[str, str], str]) -> list[dict[str, Any]]:
    """The eight cells, in per cent, and κ."""
    found = results_of(study, "simulated")
    assert found.expected is not None
    about = {"corpus": corpus, "run_corpus": found.runs[0]["corpus"]}
    rows = []
    for cell in found.kept.cells:
        right, meant = "correct" if cell.correct else "wrong", "" if cell.outcome == "yes" else "not "
        figure = f"{cell.condition}: prediction {right}, attention {meant}meaningful"
        share = dict(zip(("simulated", "low", "high"), (round(100 * each, 1) for each in cell.share), strict=True))
        rows.append(about | share | {"figure": figure, "paper": paper[corpus, figure], "answers": cell.answers})
    kappa = (round(each, 2) for each in found.kept.agreement.cohen)
    given = dict(zip(("simulated", "low", "high"), kappa, strict=True)) | {"expected": round(found.expected, 2)}
    rows.append(about | given | {"figure": "Cohen's κ", "paper": paper[corpus, ""], "answers": found.kept.answers})
    return rows


def kappas_of(corpus: str, folder: Path) -> list[dict[str, Any]]:
    """The κ that annotators at several slip rates should have and have; its error by leaving one annotator out."""
    rows = []
    for slip in SLIPS:
        with tempfile.TemporaryDirectory() as made:
            copy = Path(made) / folder.name
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("answers.sqlite*"))
            with PeopleStudy(copy) as study:
                simulate(study, MANY, slip, seed=1)
                found = answered(study, "simulated")
                items = list(found.items)
                pairs = {
                    (a, b): cohen_kappa_score(found.choices[a], found.choices[b])
                    for a, b in combinations(range(MANY), 2)
                }
        without = [np.mean([k for pair, k in pairs.items() if one not in pair]) for one in range(MANY)]
        error = math.sqrt((MANY - 1) / MANY * float(((without - np.mean(without)) ** 2).sum()))
        yes = float(np.mean([item.hidden.planted == "yes" for item in items]))
        rows.append(
            {
                "corpus": corpus,
                "planted_yes": yes,
                "slip": slip,
                "expected": round(expected_agreement(items, slip).kappa, 3),
                "given": round(float(np.mean(list(pairs.values()))), 3),
                "standard_error": round(error, 3),
                "annotators": MANY,
            }
        )
    return rows


def write(to: Path, columns: tuple[str, ...], rows: list[dict[str, Any]]) -> None:
    """A table, whole or not at all."""
    with replacing(to) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="+", metavar="CORPUS=FOLDER")
    parser.add_argument("--to", type=Path, required=True)
    given = parser.parse_args()
    with (PAPERS["vashishth_2019"].folder / "claims.csv").open(encoding="utf-8", newline="") as file:
        claims = [row for row in csv.DictReader(file) if row["measure"] in ("percent_of_samples", "cohen_kappa")]
    paper = {(row["dataset"], row["group"]): row["value"] for row in claims}
    cells, kappas = [], []
    for one in given.studies:
        corpus, _, folder = one.partition("=")
        with PeopleStudy(Path(folder)) as study:
            cells += cells_of(corpus, study, paper)
        kappas += kappas_of(corpus, Path(folder))
    write(given.to / "simulated.csv", CELLS, cells)
    write(given.to / "kappa.csv", KAPPAS, kappas)


if __name__ == "__main__":
    main()

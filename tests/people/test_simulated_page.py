"""The page of simulated answers says what its tables hold, what the paper printed, and what the formula gives."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from attentest.papers import PAPERS

ROOT = Path(__file__).parents[2]
PAPER = PAPERS["vashishth_2019"].folder


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def page() -> list[list[str]]:
    """The cells of every table of the page."""
    lines = (ROOT / "docs" / "explanation" / "people-simulated.md").read_text("utf-8").splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]


def test_every_figure_stands_beside_the_papers(page: list[list[str]]) -> None:
    table = rows(ROOT / "docs" / "people" / "simulated.csv")
    claims = {(row["dataset"], row["group"]): row["value"] for row in rows(PAPER / "claims.csv") if in_figure(row)}
    assert len(table) == len(claims) == 18
    for row in table:
        cell = "" if row["figure"].startswith("Cohen") else row["figure"]
        assert row["paper"] == claims[row["corpus"], cell]
        shown = next(line for line in page if line[0] == row["figure"])
        place = 1 if row["corpus"] == "IMDB" else 3
        assert shown[place : place + 2] == [row["paper"], f"{row['simulated']} [{row['low']}, {row['high']}]"]


def in_figure(row: dict[str, str]) -> bool:
    return row["measure"] in ("percent_of_samples", "cohen_kappa")


def test_the_cells_of_a_condition_are_all_answers() -> None:
    table = rows(ROOT / "docs" / "people" / "simulated.csv")
    for corpus in ("IMDB", "bAbI"):
        for condition in ("original", "permuted"):
            here = [r for r in table if r["corpus"] == corpus and r["figure"].startswith(condition)]
            assert sum(float(row["simulated"]) for row in here) == pytest.approx(100)
            assert sum(int(row["answers"]) for row in here) == 200


def test_kappa_is_what_the_formula_gives_and_what_was_measured(page: list[list[str]]) -> None:
    for row in rows(ROOT / "docs" / "people" / "kappa.csv"):
        base, slip = float(row["planted_yes"]), float(row["slip"])
        yes = base * (1 - slip) + (1 - base) * slip
        expected = base * (1 - base) * (1 - 2 * slip) ** 2 / (yes * (1 - yes))
        assert float(row["expected"]) == pytest.approx(expected, abs=6e-4)
        assert abs(float(row["given"]) - expected) < 3 * float(row["standard_error"])
        assert [row[k] for k in ("corpus", "planted_yes", "slip", "expected", "given", "standard_error")] in page


def test_simulated_answers_are_nowhere_ours() -> None:
    ours = [row for row in rows(PAPER / "reproduced.csv") if in_figure(row)]
    assert len(ours) == 18
    assert {row["status"] for row in ours} == {"not run"}
    assert {row["ours"] for row in ours} == {""}

"""The averages of section 4.1 on the page are those of the printed figures and of ours."""

from __future__ import annotations

import csv
from statistics import fmean

import pytest

from attentest.papers import PAPERS

TABLES = {"single texts": "Table 1", "pairs": "Table 2", "generation": "Table 3"}
FOLDER = PAPERS["vashishth_2019"].folder


def averages(table: str, group: str, *, relative: bool) -> list[float]:
    """As printed, as printed where there is one of ours, and ours."""
    with (FOLDER / "reproduced.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["kind"] == "figure" and row["table"] == table]
    whole = {(row["corpus"], row["model"]): row for row in rows if row["measure"] in ("accuracy", "bleu")}
    altered = [row for row in rows if row["group"] == group]
    both = [row for row in altered if row["ours"]]

    def mean(some: list[dict[str, str]], column: str) -> float:
        share = (float(whole[row["corpus"], row["model"]][column]) / 100 if relative else 1 for row in some)
        return fmean(float(row[column]) / each for row, each in zip(some, share, strict=True))

    return [mean(altered, "published"), mean(both, "published"), mean(both, "ours")]


def lines() -> list[list[str]]:
    """The rows of the page's table."""
    cells = [line.strip("| ").split(" | ") for line in (FOLDER / "page.md").read_text("utf-8").splitlines()]
    return [row for row in cells if len(row) == 5 and row[0].partition(",")[0] in TABLES]


def test_every_quoted_average_has_a_row():
    quoted = [row[1].replace("−", "-") for row in lines()]
    assert quoted == ["-0.5", "-0.9", "-3.9", "-4.5", "-4.2", "-0.1", "-49.5", "-51.2"]


@pytest.mark.parametrize("row", lines(), ids=lambda row: row[0])
def test_the_averages_are_those_of_the_figures(row):
    name, _, *shown = row
    about, _, group = name.partition(": ")
    family, _, unit = about.partition(", ")
    found = averages(TABLES[family], group, relative=unit == "%")
    assert [float(cell.replace("−", "-")) for cell in shown] == pytest.approx(found, abs=0.051)

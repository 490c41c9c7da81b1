"""The table on Jain & Wallace's page is that of the seeds beside it."""

from __future__ import annotations

import csv
from collections import defaultdict

import numpy as np
import pytest
from scipy import stats

from attentest.papers import PAPERS

NAMED = {
    "additive": ("additive", ""),
    "dot, query as released": ("dot", ""),
    "dot, query from N(0, 1)": ("dot(init='normal')", ""),
    "additive, the text's own state as query": ("additive", "own"),
    "dot, the text's own state as query": ("dot", "own"),
}
COLUMNS = ("tau_gradient", "tau_leave_one_out", "median_change", "max_attention", "accuracy")


def test_every_figure_on_the_page_is_that_of_the_seeds():
    folder = PAPERS["jain_wallace_2019"].folder
    found = defaultdict(list)
    with (folder / "dot_query.csv").open() as file:
        for row in csv.DictReader(file):
            found[row["attention"], row["query"]].append([float(row[name]) for name in COLUMNS])
    lines = [line.strip("| ").split(" | ") for line in (folder / "page.md").read_text().splitlines()]
    shown = {cells[0]: cells[1:] for cells in lines if cells[0] in NAMED and len(cells) == 6}
    assert set(shown) == set(NAMED)
    for name, cells in shown.items():
        values = np.array(found[NAMED[name]])
        assert len(values) == 5
        low, high = stats.t.interval(0.95, 4, values.mean(0), stats.sem(values))
        for cell, mean, half in zip(cells, values.mean(0), (high - low) / 2, strict=True):
            assert [float(part) for part in cell.split(" ± ")] == pytest.approx([mean, half], abs=6e-4)

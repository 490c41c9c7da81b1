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
CORPORA = {"SST": "sst", "20 Newsgroups": "20news", "AG News": "ag_news", "IMDB": "imdb"}
COLUMNS = ("tau_gradient", "tau_leave_one_out", "median_change", "max_attention", "accuracy")


def test_every_figure_on_the_page_is_that_of_the_seeds():
    folder = PAPERS["jain_wallace_2019"].folder
    found = defaultdict(list)
    with (folder / "dot_query.csv").open() as file:
        for row in csv.DictReader(file):
            found[row["corpus"], row["attention"], row["query"]].append([float(row[name]) for name in COLUMNS])
    lines = [line.strip("| ").split(" | ") for line in (folder / "page.md").read_text().splitlines()]
    rows = [cells for cells in lines if len(cells) == 7 and cells[1] in NAMED]
    shown = {(CORPORA[corpus], *NAMED[name]): cells for corpus, name, *cells in rows}
    assert set(shown) == set(found)
    assert len(shown) == len(rows)
    for key, cells in shown.items():
        values = np.array(found[key])
        assert len(values) == 5
        low, high = stats.t.interval(0.95, 4, values.mean(0), stats.sem(values))
        for cell, mean, half in zip(cells, values.mean(0), (high - low) / 2, strict=True):
            assert [float(part) for part in cell.split(" ± ")] == pytest.approx([mean, half], abs=6e-4)

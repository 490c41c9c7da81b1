"""Every printed figure is counted once, by what came of it, in the terminal and on its page."""

from __future__ import annotations

import importlib
from collections import Counter
from pathlib import Path

import pytest
from tests.papers.test_claims import PRINTED

from attentest.papers import PAPERS
from attentest.papers.claims import load_claims
from attentest.papers.outcome_files import committed
from attentest.papers.outcomes import evaluate
from attentest.report.claims.coverage import Coverage, coverage

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize("name", PAPERS)
def test_all_printed_figures_of_a_paper_are_counted_and_those_without_a_run_have_none_of_ours(name: str) -> None:
    for outcomes in (evaluate(name), committed(name) or []):
        if outcomes:
            assert sum(one.printed for one in coverage(outcomes)) == PRINTED.get(name, 0)
    assert sum(one.ours for one in coverage(evaluate(name))) == 0
    tables = {claim.table for claim in load_claims(name).figures if claim.source == "printed"}
    assert {one.table for one in coverage(evaluate(name))} == tables


def test_a_row_is_printed_with_ours_and_what_came_out() -> None:
    one = Coverage("Table 1", Counter({"agrees": 2, "differs": 1, "unsettled": 1, "not run": 1, "unavailable": 1_000}))
    assert one.row() == ("1,005", "4", "2", "1", "1", "1", "1,000")
    assert (one + one).ours == 8


def test_the_page_of_figures_ends_with_their_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(DOCS)
    page = importlib.import_module("paper_pages").papers()["paper-figures.md"]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:2] == "| "]
    _, *rows, total = lines
    for column in range(2, len(total)):
        assert sum(int(row[column].replace(",", "")) for row in rows) == int(total[column].replace(",", ""))
    assert int(total[2]) == sum(PRINTED.values())

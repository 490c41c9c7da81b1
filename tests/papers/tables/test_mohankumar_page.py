"""Every figure on Mohankumar et al.'s page is an outcome of the committed table."""

from __future__ import annotations

import re

import pytest

from attentest.papers import PAPERS
from attentest.papers.claims import Claim, Direction
from attentest.papers.outcome_files import committed
from attentest.report.claims.view import MARKS

PAPER = "mohankumar_2020"
FIGURE = re.compile(r"(?:(\S+) → )?(\S+) \[(\S+), (\S+)\] ([✓✗?])")
ROWS = {
    "conicity": "lower conicity",
    "accuracy": "predict as well",
    "median change, shuffled weights": "make permutations matter",
    "τ of attention and gradients": "make attention agree with gradients",
    "share of items removed until the decision flips": "make fewer removals flip",
}
SUBJECTS = ("diversity training", "the orthogonal LSTM")


def test_every_cell_is_an_outcome() -> None:
    outcomes = [outcome for outcome in committed(PAPER) or [] if outcome.settled]
    figures = {(o.claim.corpus, o.claim.model): o for o in outcomes if isinstance(o.claim, Claim)}
    directions = {(o.claim.corpus, o.claim.rule.name): o for o in outcomes if isinstance(o.claim, Direction)}
    corpora = {corpus for corpus, _ in figures}
    seen, corpus = 0, ""
    for line in (PAPERS[PAPER].text("page.md") or "").splitlines():
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and name.partition(",")[0] in corpora:
            corpus = name.partition(",")[0]
        if not line.startswith("|") or not ((corpus, name) in figures or name in ROWS):
            continue
        if (figure := figures.get((corpus, name))) is not None:
            pairs = [(cells[0], figure)]
            assert f"absolute cosines {float(cells[1]):.3f}" in figure.also
        else:
            said = ROWS[name].split(" ", 1)
            verbs = [said[0] + "s", said[1]]
            pairs = [
                (cell, directions[corpus, f"{subject} {' '.join(verbs)}"])
                for cell, subject in zip(cells, SUBJECTS, strict=True)
            ]
        for cell, outcome in pairs:
            parts = FIGURE.fullmatch(cell)
            assert parts is not None, cell
            numbers = [float(text.replace("−", "-")) for text in parts.groups()[1:4]]
            assert numbers == pytest.approx([outcome.ours, outcome.low, outcome.high], abs=6e-4)
            if isinstance(outcome.claim, Claim):
                assert float(parts[1]) == outcome.claim.value
            assert parts[5] == MARKS[outcome.status][0]
            assert len(outcome.seeds) == 5
            seen += 1
    assert seen == len(outcomes) == 26

"""The paper's page says what its committed table holds, cell by cell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from attentest.papers import PAPERS
from attentest.papers.claims import Claim, Direction, load_claims
from attentest.papers.outcome_files import committed
from attentest.papers.outcomes import Outcome, chance
from attentest.report.claims.view import MARKS
from attentest.studies.study import read_study

TUTEK = "tutek_snajder_2020"
#: A cell: published → ours [low, high] and what came out.
CELL = re.compile(r"(\S+) → (\S+) \[(\S+), (\S+)\] ([✓✗?])")
COLUMNS = {
    "F1": [("Table 1", "f1", ""), ("Table 1", "f1_change_uniform", ""), ("Table 1", "f1_change_permuted", "")],
    "information, frequent words": [
        ("Table 2", "mutual_information", "most_frequent"),
        ("Table 2", "mutual_information", "random_sample"),
        ("Table 3", "token_prediction_probability", ""),
    ],
}


@pytest.fixture(scope="module")
def page() -> str:
    return PAPERS[TUTEK].text("page.md") or ""


@pytest.fixture(scope="module")
def ours() -> list[Outcome]:
    return [outcome for outcome in committed(TUTEK) or [] if outcome.settled]


def test_every_cell_of_the_tables_is_an_outcome(page: str, ours: list[Outcome]) -> None:
    found = {
        (o.claim.corpus, o.claim.table, o.claim.measure, o.claim.group, o.claim.model, o.claim.attention): o
        for o in ours
        if isinstance(o.claim, Claim)
    }
    seen = 0
    corpora = {key[0] for key in found}
    for corpus, table in _tables(page):
        head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        some = head[1] == "seeds"
        for name, *cells in rows:
            model, attention = name.split(", ")
            seeds = int(cells.pop(0)) if some else 5
            for about, cell in zip(COLUMNS[head[1 + some]], cells, strict=True):
                key = (corpus, *about, model, attention.replace("dot", "scaled_dot"))
                assert (cell == "–") == (key not in found), key
                if cell != "–":
                    outcome, parts = found[key], CELL.fullmatch(cell)
                    assert parts is not None, cell
                    assert isinstance(outcome.claim, Claim)
                    digits = 1 if about[0] == "Table 1" else 2
                    numbers = (outcome.claim.value, outcome.ours, outcome.low, outcome.high)
                    for text, number in zip(parts.groups()[:4], numbers, strict=True):
                        assert float(text.replace("−", "-")) == pytest.approx(number, abs=0.51 * 10**-digits)
                    assert parts[5] == MARKS[outcome.status][0]
                    assert len(outcome.seeds) == seeds
                    seen += 1
    assert seen == len(corpora) * (24 + 6 + 2 + 8)


def _tables(page: str) -> Iterator[tuple[str, str]]:
    """Every table of the page, with the corpus in the heading above it."""
    for heading, below in re.findall(r"^### (.+)\n((?:(?!^##).*\n)+)", page, re.MULTILINE):
        for table in re.findall(r"(?:^\|.*\n)+", below, re.MULTILINE):
            yield heading, table


def test_the_first_sentences_count_the_outcomes(page: str, ours: list[Outcome]) -> None:
    flat = " ".join(page.split())
    figures, directions = (Counter(o.status for o in ours if isinstance(o.claim, kind)) for kind in (Claim, Direction))
    assert f"Of {directions.total()} conclusions that could be tested, {directions['agrees']} agree" in flat
    assert f"{directions['unsettled']} are not settled, none differs" in flat
    assert directions["differs"] == 0
    assert f"of {figures.total()} figures {figures['agrees']} lie within tolerance with their whole interval" in flat
    assert f"{figures['unsettled']} are unsettled, {figures['differs']} differ" in flat
    null = chance(ours, load_claims(TUTEK).rules, like_for_like=False)
    assert null is not None
    assert f"shuffled within their measure {100 * null.shuffled:.0f} % would agree" in flat


def test_what_is_said_of_the_curves_of_imitation_holds_whether_or_not_they_were_run(page: str) -> None:
    (curves,) = (o for o in committed(TUTEK) or [] if "imitate" in getattr(getattr(o.claim, "rule", None), "name", ""))
    assert isinstance(curves.claim, Direction)
    assert curves.reason == curves.claim.rule.reason
    study, table = re.findall(r"the study (\w+) makes them, and (\S+) beside the page holds them where", curves.reason)[
        0
    ]
    assert study in {read_study(path).name for path in PAPERS[TUTEK].studies()}
    (said,) = (line for line in page.splitlines() if line.startswith("- **The curve of imitation**"))
    assert said.endswith("not run.") == (PAPERS[TUTEK].text(table) is None)

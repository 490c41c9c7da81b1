"""The page on attention trained for meaning says what its table holds."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from attentest.statistics.seeds import half_width

DOCS = Path(__file__).parents[2] / "docs"
PREDICTED = re.compile(r"(−?\d?\.\d\d) \[(−?\d?\.\d\d), (−?\d?\.\d\d)\]")
ANSWERS = ("reason", "check", "one")
Key = tuple[str, str, str]


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "explanation" / "trained-for-meaning.md").read_text("utf-8")


@pytest.fixture(scope="module")
def table() -> dict[Key, dict[str, str]]:
    with (DOCS / "meaning" / "meaning.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {(row["corpus"], row["model"], row["measure"]): row for row in rows}
    assert len(found) == len(rows)
    return found


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def figures(row: dict[str, str]) -> list[float]:
    return [float(row[name]) for name in ("value", "low", "high")]


@pytest.mark.parametrize("corpus", ["sst", "aspects"])
def test_every_cell_is_of_the_table(page: str, table: dict[Key, dict[str, str]], corpus: str) -> None:
    if f"<!-- {corpus} -->" not in page:
        assert corpus not in {key[0] for key in table}
        return
    lines = page.partition(f"<!-- {corpus} -->")[2].partition("<!-- end -->")[0].strip().splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert {row[0] for row in rows} == {model for of, model, _ in table if of == corpus}
    for model, seeds, *cells in rows:
        for measure, cell in zip(head[2:], cells, strict=True):
            row = table[corpus, model, measure]
            assert row["seeds"] == seeds
            if measure in ANSWERS:
                assert set(re.sub(r" \(\d+\)", "", cell).split(", ")) == set(row["by_seed"].split("; "))
            else:
                shown = [number(part) for part in re.split(r" \[|, |\]", cell) if part]
                assert shown == pytest.approx(figures(row), abs=6e-3)


def test_what_is_said_of_predictions_is_of_the_table(page: str, table: dict[Key, dict[str, str]]) -> None:
    """Every difference on the page, and whether its interval lies on one side."""
    known = [figures(row) for (_, _, measure), row in table.items() if " − " in measure]
    seen = 0
    for line in page.partition("## What was predicted")[2].splitlines():
        for found in PREDICTED.finditer(line):
            value, low, high = (number(part) for part in found.groups())
            assert any([value, low, high] == pytest.approx(one, abs=6e-3) for one in known), line
            assert ("unsettled" in line) == (low < 0 < high), line
            seen += 1
    assert seen >= 4


def test_what_welchs_t_says_of_the_seeds_is_of_the_table(page: str, table: dict[Key, dict[str, str]]) -> None:
    base = seeds(table["sst", "base", "held"])
    said = {
        "tying": ".33 ± .03",
        "diversity": ".20 ± .11",
        "concat": ".07 ± .03",
        "orthogonal LSTM": ".14 ± .16",
        "mlm": ".11 ± .12",
        "sparsemax": "−.25 ± .28",
        "supervised": "−.06 ± .10",
    }
    for model, words in said.items():
        own = seeds(table["sst", model, "held"])
        assert words in page
        difference = sum(own) / len(own) - sum(base) / len(base)
        half = half_width([(1.0, own), (-1.0, base)])
        assert [number(part) for part in words.split(" ± ")] == pytest.approx([difference, half], abs=6e-3)
        assert (abs(difference) > half) == (model in ("tying", "diversity", "concat"))


def seeds(row: dict[str, str]) -> list[float]:
    return [float(part) for part in row["by_seed"].split("; ")]

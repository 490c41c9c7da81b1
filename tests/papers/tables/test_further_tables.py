"""Tables on the papers' pages beside the claims: each cell is that of the seeds in the CSV file beside the page."""

from __future__ import annotations

import csv
import importlib
from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from attentest.papers import PAPERS

CORPORA = {"SST": "sst", "20 Newsgroups": "20news"}
#: The page, its file, what names a row of the table, and the columns that are shown after it.
TABLES = {
    "shortfall": (
        "jain_wallace_2019",
        "search_shortfall.csv",
        {(name,): (corpus,) for name, corpus in {**CORPORA, "AG News": "ag_news", "bAbI 1": "babi-1"}.items()},
        ("corpus",),
        ("searched", "found", "shortfall", "short_by_05"),
    ),
    "agreement": (
        "wiegreffe_pinter_2019",
        "agreement.csv",
        {
            (name, encoder): (corpus, written)
            for name, corpus in {**CORPORA, "AG News": "ag_news"}.items()
            for encoder, written in (("BiLSTM", "bilstm"), ("average", "average"))
        },
        ("corpus", "encoder"),
        ("tau", "captured"),
    ),
    "equal cost": (
        "wiegreffe_pinter_2019",
        "equal_cost.csv",
        {
            (name, f"ε = {epsilon[1:]}"): (corpus, epsilon.rstrip("0"))
            for name, corpus in CORPORA.items()
            for epsilon in ("0.01", "0.055", "0.086")
        },
        ("corpus", "epsilon"),
        ("jsd", "mean_tvd"),
    ),
    "both sentiments": (
        "vashishth_2019",
        "both_sentiments.csv",
        {
            (f"{words} words", f"predicted {predicted}"): (words, predicted)
            for words in ("negative", "positive")
            for predicted in ("negative", "positive")
        },
        ("words", "predicted"),
        ("attention", "shuffled", "gradient_x_input"),
    ),
}


def table(page: str, rows: Sequence[tuple[str, ...]], width: int) -> dict[tuple[str, ...], list[str]]:
    """The page's cells by the names that begin their row."""
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("|")]
    names = len(rows[0])
    return {tuple(c[:names]): c[names:] for c in lines if len(c) == names + width and tuple(c[:names]) in rows}


@pytest.mark.parametrize("about", TABLES)
def test_every_cell_is_that_of_the_seeds(about: str) -> None:
    paper, name, rows, keys, columns = TABLES[about]
    folder = PAPERS[paper].folder
    seeds = defaultdict(list)
    with (folder / name).open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            seeds[tuple(row[key] for key in keys)].append([float(row[column]) for column in columns])
    shown = table((folder / "page.md").read_text("utf-8"), list(rows), len(columns))
    assert set(shown) == set(rows)
    for row, cells in shown.items():
        values = np.array(seeds[rows[row]])
        low, high = stats.t.interval(0.95, len(values) - 1, values.mean(0), stats.sem(values))
        for cell, mean, half in zip(cells, values.mean(0), (high - low) / 2, strict=True):
            assert [float(part) for part in cell.split(" ± ")] == pytest.approx([mean, half], abs=6e-4)


def test_published_examples_are_as_they_were_put() -> None:
    folder = PAPERS["jain_wallace_2019"].folder
    page = (folder / "page.md").read_text("utf-8")
    with (folder / "published_examples.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6
    for row in rows:
        corpus = next(name for name, written in CORPORA.items() if written == row["corpus"])
        assert f"| {corpus}, {row['seed']} | {row['predicted']} | *{row['top']}* {row['weight']} |" in page
        assert f"| {row['adversary']} | {row['searched']}, {row['jsd']} | {row['change']} |" in page
        assert float(row["jsd"]) == float(row["at_most"]) >= float(row["searched"])


def test_the_learning_curve_is_that_of_its_seeds() -> None:
    folder = PAPERS["vashishth_2019"].folder
    with (folder / "learning_curves.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["corpus"] == "ag_news"]
    sizes = sorted({int(row["training"]) for row in rows})
    table = np.array(
        [[float(row["accuracy"]) for row in rows if int(row["training"]) == size] for size in sizes]
    )  # sizes × seeds
    lines = [stats.linregress(np.log(sizes[-3:]), seed[-3:]) for seed in table.T]
    ends = [line.intercept + line.slope * np.log(60_000) for line in lines]
    page = (folder / "page.md").read_text(encoding="utf-8")
    for size, found in [*zip(sizes, table, strict=True), (60_000, np.array(ends))]:
        half = stats.t.ppf(0.975, len(found) - 1) * stats.sem(found)
        assert f"| {size:,} | {100 * found.mean():.1f} ± {100 * half:.1f} |" in page
    assert abs(np.mean(ends) - 0.964) < 0.02


def test_hypotheses_alone_are_as_right_as_the_page_says() -> None:
    folder = PAPERS["vashishth_2019"].folder
    with (folder / "learning_curves.csv").open(encoding="utf-8", newline="") as file:
        found = [100 * float(row["accuracy"]) for row in csv.DictReader(file) if row["corpus"] == "snli_hypotheses"]
    half = stats.t.ppf(0.975, len(found) - 1) * stats.sem(found)
    assert f"{np.mean(found):.1f} ± {half:.1f} %" in (folder / "page.md").read_text(encoding="utf-8")
    assert 60 <= np.mean(found) <= 66  # as was predicted


def test_flat_and_hierarchical_models_are_those_of_their_seeds() -> None:
    folder = PAPERS["vashishth_2019"].folder
    with (folder / "hierarchical_levels.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["corpus"] == "sst"]
    altered = ("accuracy", "uniform_trained", "random_trained", "uniform", "random", "permuted")
    page = (folder / "page.md").read_text(encoding="utf-8")
    means = {}
    for structure in ("flat", "hierarchical"):
        shown = next(line for line in page.splitlines() if line.startswith(f"| {structure}, word |"))
        found = np.array(
            [[100 * float(row[name]) for name in altered] for row in rows if row["structure"] == structure]
        )
        halves = stats.t.ppf(0.975, len(found) - 1) * stats.sem(found)
        for value, half, cell in zip(found.mean(0), halves, shown.split("|")[2:], strict=False):
            assert cell.strip().startswith(f"{value:.1f} ± {half:.1f} (".replace("-", "−"))
        means[structure] = found.mean(0)
    assert np.abs(means["flat"] - means["hierarchical"]).max() < 2


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[3] / "scripts" / "seeds"))


@pytest.mark.usefixtures("scripts")
def test_a_level_is_that_of_the_record() -> None:
    level = importlib.import_module("hierarchical_levels").level_of
    assert level({"model": {"encoder": "bilstm"}}) == ("flat", "word")
    assert level({"model": {"structure": "hierarchical"}, "site": "word"}) == ("hierarchical", "word")
    assert level({"model": {"structure": "hierarchical"}}) == ("hierarchical", "sentence")


@pytest.mark.usefixtures("scripts")
def test_corpora_without_a_run_keep_their_rows(tmp_path: Path) -> None:
    completed = importlib.import_module("seeds_table").completed
    table, fields = tmp_path / "table.csv", ("corpus", "seed", "value")
    made = [{"corpus": "b", "seed": seed, "value": "1"} for seed in "10"]
    assert [row["seed"] for row in completed(table, fields, made, itemgetter("seed"))] == ["0", "1"]
    completed(table, fields, [{"corpus": "a", "seed": "0", "value": "2"}], itemgetter("seed"))
    again = completed(table, fields, [{"corpus": "b", "seed": "2", "value": "3"}], itemgetter("seed"))
    assert [tuple(row.values()) for row in again] == [("a", "0", "2"), ("b", "2", "3")]
    before = table.read_bytes()
    assert completed(table, fields, [], itemgetter("seed")) == again
    assert table.read_bytes() == before

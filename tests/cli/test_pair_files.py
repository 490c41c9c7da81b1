"""Files of pairs with three classes: comma or tab between the fields, and what is wrong with others in one line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.test_cli import FAST, fails_in_one_line, run

from attentest.store.folder import RunFolder

__all__ = ["run"]

CLASSES = ("CONTRADICTION", "ENTAILMENT", "NEUTRAL")
HEADER = ("premise", "hypothesis", "gold")
COLUMNS = ["--text-column", "premise", "--second-column", "hypothesis", "--label-column", "gold"]


def sentences(count: int = 60) -> list[tuple[str, str, str]]:
    """As in SICK: a sentence, another one, and how the second follows from the first."""
    rng = np.random.default_rng(1)
    things, deeds = ("a dog", "a man", "two girls", "the cook"), ("sleeps", "runs", "sings", "waits")
    rows = []
    for i in range(count):
        thing, deed, other = things[rng.integers(4)], deeds[rng.integers(4)], things[rng.integers(4)]
        label = CLASSES[i % 3]
        second = {"CONTRADICTION": f"nobody {deed}", "ENTAILMENT": f"{thing} is there", "NEUTRAL": f"{other} is late"}
        rows.append((f"{thing} {deed} near the tree {i}", second[label], label))
    return rows


def write(path: Path, rows: list[tuple[str, ...]], header: tuple[str, ...] = HEADER, delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle, delimiter=delimiter).writerows([header, *rows])
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("name", "delimiter"), [("pairs.csv", ","), ("pairs.tsv", "\t"), ("tabbed.csv", "\t")])
def test_three_classes_are_audited_whatever_stands_between_the_fields(run, tmp_path, name, delimiter):
    data = write(tmp_path / name, sentences(), delimiter=delimiter)
    asked = ["--challenge", "uniform", "--challenge", "gating"]
    code, out, err = run("audit", "--data", data, *COLUMNS, *FAST, *asked)
    assert code == 0, err
    assert "Report" in out
    folder = RunFolder(next((tmp_path / "runs").iterdir()))
    corpus = folder.record["fields"]["corpus"]
    assert (corpus["task"], tuple(corpus["classes"])) == ("pair", CLASSES)
    gating = folder.findings("gating").table
    assert set(gating["swapped"].to_pylist()) == {"rest", "query"}
    assert gating.num_rows == 2 * corpus["sizes"]["test"]
    assert "gating" in (folder.path / "report.html").read_text(encoding="utf-8")


def test_a_row_without_a_second_text_is_left_out_and_counted(run, tmp_path):
    rows = sentences()
    rows[4] = (rows[4][0], "  ", rows[4][2])
    code, _, err = run("audit", "--data", write(tmp_path / "d.csv", rows), *COLUMNS, *FAST, "--challenge", "uniform")
    assert code == 0, err
    kept = json.loads(next((tmp_path / "runs").glob("*/run.json")).read_text())["fields"]["corpus"]
    assert kept["left_out"] == ["1 row left out: empty second text (row 5)"]
    assert sum(kept["sizes"].values()) == 59


def test_what_is_wrong_with_a_file_of_pairs_is_said_in_one_line(run, tmp_path):
    good = write(tmp_path / "good.csv", sentences())
    fails_in_one_line(
        run("audit", "--data", good, *COLUMNS[:2], "--second-column", "hypotesis", *COLUMNS[4:]),
        "no column 'hypotesis' (second_column, --second-column)",
        "premise, hypothesis, gold",
    )
    fails_in_one_line(
        run("audit", "--data", good, *COLUMNS[:2], "--second-column", "premise"), "'premise' is named for two purposes"
    )
    empty = write(tmp_path / "empty.csv", [(one, "", label) for one, _, label in sentences()])
    fails_in_one_line(
        run("audit", "--data", empty, *COLUMNS), "60 rows left out: empty second text", "second_column (hypothesis)"
    )
    same = write(tmp_path / "same.csv", [(one, two, "NEUTRAL") for one, two, _ in sentences()])
    fails_in_one_line(run("audit", "--data", same, *COLUMNS), "one class only", "NEUTRAL")
    unlike = write(tmp_path / "unlike.csv", [(one, two) for one, two, _ in sentences()], HEADER[:2])
    fails_in_one_line(run("audit", "--data", unlike, *COLUMNS), "no column 'gold'")

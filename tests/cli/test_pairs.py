"""Pairs of texts from the command line: a file with two columns, a built-in corpus of stories, and what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tests.cli.test_cli import FAST, fails_in_one_line, reviews, run, write_csv

__all__ = ["run"]

SMALL = ["--encoder", "bilstm(hidden=6)", "--embedding", "8", "--epochs", "1"]


def pairs_csv(path: Path, count: int = 90) -> Path:
    rng = np.random.default_rng(0)
    rows = []
    for i in range(count):
        premise = [f"w{j}" for j in rng.integers(0, 20, rng.integers(3, 8))]
        label = ("no", "maybe", "yes")[i % 3]
        rows.append((" ".join(premise), f"is it {label} {premise[0]}", label))
    with path.open("w", newline="", encoding="utf-8") as handle:
        csv.writer(handle).writerows([("premise", "hypothesis", "label"), *rows])
    return path


COLUMNS = ["--text-column", "premise", "--second-column", "hypothesis"]


@pytest.mark.slow
def test_a_file_of_pairs_is_audited_by_every_challenge_and_shown_with_both_texts(run, tmp_path):
    data = pairs_csv(tmp_path / "pairs.csv")
    code, out, err = run("audit", "--data", data, *COLUMNS, *FAST, "--json")
    assert code == 0, err
    assert json.loads(out)
    folder = next((tmp_path / "runs").iterdir())
    kept = json.loads((folder / "run.json").read_text())
    assert kept["fields"]["corpus"]["task"] == "pair"
    assert kept["fields"]["model"]["query"] == "separate"
    assert kept["fields"]["model"]["head"] == "joint"
    assert not kept.get("not_applicable", {}).keys() - {"rationale"}
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Asked with" in page
    assert "is it yes" in page


@pytest.mark.slow
def test_stories_need_no_download(run, tmp_path):
    corpus = "stories-1(train=60, dev=20, test=20)"
    code, out, err = run("audit", "--corpus", corpus, *SMALL, "--query", "shared", "--challenge", "rationale", "-q")
    assert code == 0, err
    folder = next((tmp_path / "runs").iterdir())
    assert json.loads((folder / "run.json").read_text())["fields"]["corpus"]["task"] == "answer"
    assert "Report" in out


@pytest.mark.slow
def test_a_trained_model_of_pairs_meets_new_pairs_and_nothing_else(run, tmp_path):
    data = pairs_csv(tmp_path / "pairs.csv")
    code, _, err = run("train", "--data", data, *COLUMNS, *FAST, "--head", "joint_tanh", "--query", "conditional")
    assert code == 0, err
    folder = next((tmp_path / "runs").iterdir())
    new = pairs_csv(tmp_path / "new.csv", 12)
    asked = ["audit", "--model", folder, "--challenge", "uniform", "--quiet"]
    code, _, err = run(*asked, "--data", new, *COLUMNS)
    assert code == 0, err
    rows = [("w1 w2 w3", label) for label in ("no", "maybe", "yes")]
    single = write_csv(tmp_path / "single.csv", rows * 4)
    fails_in_one_line(run(*asked, "--data", single), "pairs of texts")


@pytest.mark.slow
def test_a_pair_is_explained_with_its_second_text(run, tmp_path):
    data = pairs_csv(tmp_path / "pairs.csv")
    assert run("train", "--data", data, *COLUMNS, *FAST)[0] == 0
    code, out, err = run("explain", "w1 w2 w3", "--second", "is it yes w1", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["tokens"] == ["w1", "w2", "w3"]
    assert any("is it yes w1" in note for note in found["notes"])
    pages = {run("explain", "w1 w2 w3", "--second", asked)[1].splitlines()[-1] for asked in ("is it yes", "is it no")}
    assert len(pages) == 2
    fails_in_one_line(run("explain", "w1 w2 w3"), "--second")


@pytest.mark.parametrize(("arguments", "said"), [
    (["--query", "both"], "separate, shared, conditional"),
    (["--query", "conditional", "--encoder", "average"], "bilstm or bigru"),
    (["--structure", "hierarchical"], "one text"),
    (["--query", "own"], "single texts"),
])  # fmt: skip
def test_what_cannot_be_is_said_in_one_line(run, arguments, said):
    fails_in_one_line(run("audit", "--corpus", "stories-1(train=6, dev=2, test=2)", *arguments), said)


def test_options_of_pairs_are_refused_where_there_is_one_text(run, tmp_path):
    data = write_csv(tmp_path / "d.csv", reviews(30))
    fails_in_one_line(run("audit", "--data", data, "--query", "shared"), "one text")
    fails_in_one_line(run("audit", "--data", data, "--head", "joint"), "second text")
    fails_in_one_line(run("audit", "--data", data, "--second-column", "other"), "no column 'other'")

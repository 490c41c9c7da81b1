from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.papers.made_up_altered import altered_cell
from tests.papers.made_up_cells import cell

from attentest.cli import main
from attentest.cli.claims import reproducible
from attentest.cli.study import with_corpora
from attentest.errors import InputError, NotApplicable
from attentest.papers import Paper
from attentest.papers.claims import load_claims
from attentest.papers.outcome_files import write_outcomes
from attentest.papers.outcomes import evaluate

JAIN = "jain_wallace_2019"
VASHISHTH = "vashishth_2019"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: Any) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["attentest", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return call


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A study's record with two runs."""
    root = tmp_path / "runs"
    cells = [cell(root, tau=0.36), cell(root, encoder="average", tau=0.65, vectors=None)]
    listed = [{"label": "", "choices": dict(c.choices), "run": c.folder.path.name, "problem": None} for c in cells]
    (root / "studies").mkdir()
    record = {"study": JAIN, "title": "", "paper": JAIN, "cells": listed}
    (root / "studies" / f"{JAIN}-0.json").write_text(json.dumps(record), encoding="utf-8")
    return root


@pytest.mark.slow
def test_without_a_paper_all_are_listed(run: Run) -> None:
    code, out, err = run("claims")
    assert code == 0, err
    assert "1,332 figures, 150 directions" in out
    assert "Of 894 printed figures " in out
    assert "wiegreffe_pinter_2019" in out


@pytest.mark.slow
def test_the_runs_here_are_compared_and_named(run: Run, runs: Path) -> None:
    code, out, err = run("claims", JAIN)
    assert code == 0, err
    assert "from 2 runs in runs" in out
    assert "✓ agrees" in out
    assert "✗ differs" in out
    assert "Not like for like" in out


@pytest.mark.slow
def test_claims_are_written_as_csv_page_and_json(run: Run, runs: Path, tmp_path: Path) -> None:
    code, out, err = run("claims", JAIN, "--csv", "c.csv", "--page", "c.html")
    assert code == 0, err
    assert "c.csv" in out
    with (tmp_path / "c.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(load_claims(JAIN).every)
    assert "Published against ours" in (tmp_path / "c.html").read_text("utf-8")
    code, out, _ = run("claims", JAIN, "--json")
    assert code == 0
    assert json.loads(out) == rows


@pytest.mark.slow
def test_claims_can_be_narrowed_by_table_corpus_and_status(run: Run, runs: Path) -> None:
    def rows(*options: str) -> list[dict[str, str]]:
        code, out, err = run("claims", JAIN, "--json", *options)
        assert code == 0, err
        found: list[dict[str, str]] = json.loads(out)
        return found

    assert {row["table"] for row in rows("--table", "2")} == {"Table 2", "Table 2 (later version)"}
    assert {row["table"] for row in rows("--table", "Table 1")} == {"Table 1", "Table 1, caption"}
    assert {row["corpus"] for row in rows("--corpus", "sst")} == {"SST"}
    assert {row["corpus"] for row in rows("--corpus", "SST", "--corpus", "imdb")} == {"SST", "IMDB"}
    misses = rows("--status", "differs")
    assert misses
    assert {row["status"] for row in misses} == {"differs"}


@pytest.mark.slow
def test_without_runs_the_table_that_comes_with_attentest_is_shown_and_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_outcomes(tmp_path / "kept.csv", evaluate(JAIN, [cell(tmp_path / "elsewhere", tau=0.36)]))
    from attentest.papers import outcome_files

    kept = outcome_files.read_outcomes((tmp_path / "kept.csv").read_text("utf-8"), "kept.csv", load_claims(JAIN))
    monkeypatch.setattr(outcome_files, "committed", lambda name: kept)
    code, out, err = run("claims", JAIN)
    assert code == 0, err
    assert "this is the table that comes with attentest" in " ".join(out.split())
    assert "✓ agrees" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["jain_walace_2019"], ["Did you mean 'jain_wallace_2019'"]),
        ([JAIN, "--table", "9"], ["no table '9'"]),
        ([JAIN, "--corpus", "ssst"], ["Did you mean 'sst'"]),
        ([JAIN, "--status", "difers"], ["Did you mean 'differs'"]),
        ([JAIN, "--csv", "nowhere/c.csv"], ["nowhere/c.csv"]),
        (["--csv", "c.csv"], ["need a paper"]),
        ([JAIN, "--onto", "c.csv"], ["There is no file c.csv", "--onto"]),
        (["--table", "2"], ["needs a paper"]),
        ([JAIN, "--bogus"], ["--bogus"]),
    ],
    ids=lambda value: " ".join(value)[:50],
)
def test_mistakes_are_one_line_and_exit_code_two(run: Run, arguments: list[str], said: list[str]) -> None:
    code, _, err = run("claims", *arguments)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    for words in said:
        assert words in err


@pytest.mark.slow
def test_the_headline_comes_first_and_goes_into_a_file_of_its_own(run: Run, tmp_path: Path) -> None:
    root = tmp_path / "runs"
    cells = [
        altered_cell(root, corpus="babi-1", seed=seed, head=head, trained=trained)
        for head, trained in (("softmax", 0.3), ("joint", 0.7))
        for seed in range(3)
    ]
    listed = [{"label": "", "choices": dict(c.choices), "run": c.folder.path.name, "problem": None} for c in cells]
    (root / "studies").mkdir()
    record = {"study": VASHISHTH, "title": "", "paper": VASHISHTH, "cells": listed}
    (root / "studies" / f"{VASHISHTH}-0.json").write_text(json.dumps(record), encoding="utf-8")
    code, out, err = run("claims", VASHISHTH, "--csv", "c.csv", "--page", "c.html")
    assert code == 0, err
    assert out.index("is it about attention, or about wiring?") < out.index("Figures    like for like")
    assert "that part is about wiring (training without attention)" in " ".join(out.split())
    with (tmp_path / "c-headline.csv").open(encoding="utf-8", newline="") as file:
        heads = [row["head"] for row in csv.DictReader(file)]
    assert (heads.count("paper"), heads.count("joint"), heads.count("joint_tanh")) == (6, 6, 0)
    assert "What permuted weights change, by the largest weight" in (tmp_path / "c.html").read_text("utf-8")
    code, out, err = run("claims", VASHISHTH, "--corpus", "sst")
    assert code == 0, err
    assert "about wiring?" not in out


def test_a_papers_study_can_be_cut_to_what_a_table_needs() -> None:
    whole, second = reproducible(JAIN)[0], reproducible(JAIN, "2")[0]
    assert set(second.grid["encoder"]) == {"bilstm", "average"}
    assert set(second.grid["attention"]) == {"additive"}
    assert {text.partition("(")[0] for text in second.run["challenges"]} == {"instances", "agreement"}
    assert len(second.cells()) < len(whole.cells())
    assert set(second.grid["corpus"]) == set(whole.grid["corpus"])
    assert set(reproducible(JAIN, "1")[0].grid["encoder"]) == {"bilstm"}
    assert len(reproducible(JAIN, "released results")[0].cells()) == len(whole.cells())


def test_a_paper_may_have_several_studies_and_a_corpus_chooses_among_them() -> None:
    both = reproducible(JAIN)
    assert [study.name for study in both] == [JAIN, "jain_wallace_owned", "jain_wallace_pairs"]
    pairs = reproducible(JAIN, "2")[-1]
    assert {text.partition("(")[0] for cell in pairs.cells() for text in cell.choices["challenges"]} == {
        "instances",
        "agreement",
    }
    assert [(study.name, named) for study, named in with_corpora(both, ["babi-1"])] == [
        ("jain_wallace_pairs", ["babi-1"])
    ]
    assert [study.name for study, _ in with_corpora(both, ["sst", "snli"])] == [JAIN, "jain_wallace_pairs"]
    assert with_corpora(both, ["cnn"]) == [(both[1], ["cnn"])]
    assert [(study.name, named) for study, named in with_corpora(both, ["nowhere"])] == [(JAIN, ["nowhere"])]


def test_what_cannot_be_reproduced_is_said_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        Paper, "studies", lambda self: [path for path in [self.folder / "study.toml"] if "jain" in str(path)]
    )
    with pytest.raises(NotApplicable, match="tutek_snajder_layers"):
        reproducible("tutek_snajder_2020")
    with pytest.raises(InputError, match="no table '7'"):
        reproducible(JAIN, "7")


@pytest.mark.slow
def test_claims_are_quick_because_they_import_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['attentest', 'claims', 'jain_wallace_2019']\n"
        "from attentest.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'duckdb', 'altair', 'spacy'} & set(sys.modules)\n"
        "print(heavy, file=sys.stderr); sys.exit(bool(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_is_kept_of_runs_gives_the_same_figures(run: Run, runs: Path, tmp_path: Path) -> None:
    code, _, err = run("claims", JAIN, "--corpus", "sst", "--keep", "kept.zip", "--csv", "own.csv")
    assert code == 0, err
    assert "kept.zip: 2 runs" in err
    again = run("claims", JAIN, "--corpus", "sst", "--from", "kept.zip", "--csv", "again.csv", "--page", "page.html")
    assert again[0] == 0, again[2]
    assert "from what kept.zip keeps of 2 runs" in again[1]
    assert (tmp_path / "own.csv").read_bytes() == (tmp_path / "again.csv").read_bytes()
    for wrong, words in (
        (("--from", "no.zip"), "There is no file no.zip"),
        (("--from", "own.csv"), "it is no archive of claims"),
        (("--from", "kept.zip", "--keep", "more.zip"), "give one of them"),
        (("--keep", "more.zip", "--runs", "none"), "There are no runs"),
    ):
        code, _, err = run("claims", JAIN, *wrong)
        assert (code, words in err, err.count("\n")) == (2, True, 1), err

"""attentest study and attentest reproduce, as a person types them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attentest.cli import main
from attentest.cli.study import Part, find_study, narrowed

TINY = """
name = "tiny"
title = "Two attentions"
[run]
corpus = "reviews(train=200, dev=40, test=40)"
encoder = "average(hidden=8)"
embedding = 8
epochs = 1
challenges = ["instances(per_token=False)", "uniform"]
[grid]
attention = ["additive", "dot"]
"""


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command in a folder of its own: exit code, output, errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "tiny.toml").write_text(TINY)

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["attentest", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


@pytest.mark.slow
def test_a_study_is_planned_run_listed_and_not_run_again(typed, tmp_path):
    code, out, _ = typed("study", "run", "tiny.toml", "--dry-run")
    assert code == 0
    assert "2 cells: 2 to do." in out
    assert not (tmp_path / "runs").exists()
    code, out, err = typed("study", "run", "tiny.toml", "--csv", "all.csv")
    assert code == 0, err
    assert "2 of 2 cells done." in err
    assert "accuracy" in out
    assert (tmp_path / "all.csv").read_text().startswith("corpus,encoder,attention")
    _, out, _ = typed("study", "status", "tiny.toml")
    assert "2 cells: 2 done." in out
    _, out, _ = typed("study", "ls")
    assert "2 of 2" in out
    assert "jain_wallace_2019" in out
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").glob("*/findings/*")}
    assert typed("study", "run", "tiny.toml", "--quiet")[0] == 0
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").glob("*/findings/*")}


def test_what_is_wrong_is_one_line_and_code_2(typed, tmp_path):
    (tmp_path / "broken.toml").write_text("[grid]\nencoder = ['bilstn']\n")
    for words, said in (
        (("study", "run", "broken.toml"), "Did you mean 'bilstm'?"),
        (("study", "run", "nothing.toml"), "No study file at nothing.toml"),
        (("study", "run", "jain_walace_2019"), "Did you mean 'jain_wallace_2019'?"),
        (("study", "run", "tiny.toml", "--corpus", "sst"), "has no corpus 'sst'"),
        (("study", "run", "tiny.toml", "--engine", "rey"), "Did you mean 'ray'?"),
        (("study", "run", "tiny.toml", "--gpus", "0.5"), "takes no share of a GPU"),
        (("reproduce", "nobody_1999"), "nobody_1999"),
    ):
        code, _, err = typed(*words)
        assert code == 2, (words, err)
        assert said in " ".join(err.split()), (words, err)
        assert "Traceback" not in err


def test_cells_whose_corpus_is_not_here_are_said_and_the_code_is_2(typed, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path / "none"))
    code, _, err = typed("study", "run", "jain_wallace_2019", "--corpus", "sst", "--seeds", "1")
    assert code == 2
    assert "0 of 6 cells done." in err
    assert "attentest corpora get sst" in " ".join(err.split())


def test_a_corpus_to_get_for_oneself_is_in_the_study_of_its_paper_and_says_where_it_comes_from(
    typed, tmp_path, monkeypatch
):
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path / "none"))
    for paper, corpus, source in (
        ("jain_wallace_2019", "cnn", "corpora get cnn --from DIR', DIR with its files from https://cs.nyu.edu"),
        ("jain_wallace_2019", "adr", "corpora get adr"),
        ("jain_wallace_2019", "mimic_anemia", "from https://physionet.org"),
        ("serrano_smith_2019", "yahoo", "corpora get yahoo"),
        ("serrano_smith_2019", "amazon", "corpora get amazon"),
        ("vashishth_2019", "multinli", "corpora get multinli"),
        ("vashishth_2019", "yelp", "corpora get yelp"),
        ("vashishth_2019", "news_commentary", "corpora get news_commentary"),
        ("vashishth_2019", "wmt_ende", "corpora get wmt_ende --from DIR"),
    ):
        code, _, err = typed("reproduce", paper, "--corpus", corpus, "--seeds", "1")
        assert code == 2, (corpus, err)
        assert f"Corpus '{corpus}' is not on this machine" in " ".join(err.split()), err
        assert source in " ".join(err.split()), err


def test_without_a_name_corpora_that_are_not_here_are_left_out_with_a_line_each(typed, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTENTEST_DATA", str(tmp_path / "none"))
    code, _, err = typed("reproduce", "jain_wallace_2019", "--dry-run")
    assert (code, err.count("is on this machine")) == (2, 1)
    from attentest.cli.study import at_hand
    from attentest.cli.terminal import Terminal
    from attentest.data.files import presence
    from attentest.errors import InputError

    def check(corpus, data):
        if corpus != "sst":
            raise InputError(f"{corpus} is not here.")

    monkeypatch.setattr(presence, "check_presence", check)
    from attentest.cli.claims import reproducible

    found = at_hand(reproducible("jain_wallace_2019"), Terminal())
    assert [(study.name, named) for study, named in found] == [("jain_wallace_2019", ["sst"])]


def test_a_failed_cell_gives_code_1_and_says_how_to_try_again(typed, tmp_path):
    (tmp_path / "v.txt").write_text("good 1 2 3\n")
    (tmp_path / "fails.toml").write_text(TINY.replace("[grid]", 'vectors = "v.txt"\n[grid]'))
    code, _, err = typed("study", "run", "fails.toml")
    assert code == 1
    assert "0 of 2 cells done." in err
    assert "vectors of 3 numbers" in " ".join(err.split())
    assert "--retry-failed" in err


def test_another_checkpoint_takes_the_place_of_the_one_that_is_fine_tuned():
    study = find_study("vashishth_transformers")
    other = narrowed(study, Part(corpus=["sst", "multi30k"], seeds=1, checkpoint="bert-base-uncased"))
    assert {str(cell.choices["corpus"])[:3]: cell.choices["fine_tune"] for cell in other.cells()} == {
        "sst": "bert-base-uncased",
        "mul": "",
    }


def test_a_checkpoint_that_nothing_is_fine_tuned_from_is_refused(typed):
    code, _, err = typed("study", "run", "tiny.toml", "--checkpoint", "bert-base-uncased", "--dry-run")
    assert code == 2
    assert "study 'tiny' fine-tunes none" in " ".join(err.split())

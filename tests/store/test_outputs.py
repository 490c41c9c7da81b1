"""Files that a person names to write to."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_cli import fails_in_one_line, run
from tests.report.made_up import MEASURES, write_run

from attentest.errors import InputError
from attentest.store.outputs import check_output
from attentest.store.verifying import verify_run

__all__ = ["run"]

PAPER = "jain_wallace_2019"


@pytest.fixture
def made(tmp_path: Path) -> Any:
    return write_run(tmp_path / "runs" / "made", 12, without=[name for name in MEASURES if name != "instances"])


def test_what_may_be_written_is_let_be(tmp_path: Path, made: Any) -> None:
    there = tmp_path / "there.csv"
    there.write_text("an earlier outcome", encoding="utf-8")
    (made.path / "own.csv").touch()
    for target in (there, tmp_path / "new.csv", made.path / "own.csv", made.path / "new.csv", Path("/dev/null")):
        check_output("--csv", target, tmp_path / "read.csv", None)


def test_what_could_not_be_written_is_said_before_any_work(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--csv '.*' is a folder"):
        check_output("--csv", tmp_path)
    with pytest.raises(InputError, match=r"there is no folder .*none to write a.csv in"):
        check_output("--csv", tmp_path / "none" / "a.csv")


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").touch()
    os.link(tmp_path / "questions.jsonl", tmp_path / "same")
    (tmp_path / "link").symlink_to("questions.jsonl")
    for name in ("questions.jsonl", "same", "link"):
        with pytest.raises(InputError, match="is what is read, and would be lost"):
            check_output("--csv", tmp_path / name, tmp_path / "questions.jsonl")


def test_no_file_of_a_run_is_written_over(tmp_path: Path, made: Any) -> None:
    (tmp_path / "link").symlink_to(made.path / "run.json")
    for target in (made.path / "run.json", *made.path.glob("findings/*.parquet"), tmp_path / "link"):
        with pytest.raises(InputError, match=r"is one of the files that .*made consists of"):
            check_output("--csv", target)
    (made.path / "run.json").write_text("[", encoding="utf-8")
    with pytest.raises(InputError, match="consists of"):
        check_output("--csv", made.path / "run.json")


@pytest.mark.parametrize(
    "arguments",
    [
        ("claims", PAPER, "--csv", "runs/made/run.json"),
        ("claims", PAPER, "--page", "runs/made/run.json"),
        ("claims", PAPER, "--keep", "runs/made/run.json"),
        ("study", "run", PAPER, "--csv", "runs/made/run.json"),
        ("sources", "--model", "none", "--planted", "2", "--csv", "runs/made/run.json"),
        ("scores", "export", "made", "--out", "runs/made/findings/instances.parquet", "--format", "captum"),
        ("explain", "a word", "--html", "runs/made/report.html"),
        ("corpora", "vectors", "reviews", "--out", "runs/made/run.json"),
    ],
)
def test_no_command_takes_a_file_of_a_run_for_its_outcome(run: Any, made: Any, arguments: tuple[str, ...]) -> None:
    (made.path / "report.html").touch()
    made.finish("report.html")
    fails_in_one_line(run(*arguments), "would be lost")
    assert verify_run(made).whole

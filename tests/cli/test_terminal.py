"""What a person sees of progress, in a terminal and without one; and what printing does where little can be shown."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time

import pytest
from rich.console import Console
from tests.cli.test_cli import fails_in_one_line, run
from tests.report.made_up import MEASURES, write_run

from attentest.cli import terminal
from attentest.printing import Printer

__all__ = ["run"]


@pytest.fixture
def shown(monkeypatch):
    monkeypatch.setattr(terminal, "LINE_SECONDS", 0.05)

    def made(*, tty: bool):
        out, screen = io.StringIO(), terminal.Terminal()
        screen.console = Console(file=out, force_terminal=tty, width=100, highlight=False)
        return screen, out

    return made


def test_without_a_terminal_there_are_plain_lines_while_work_goes_on_and_one_when_it_ends(shown):
    screen, out = shown(tty=False)
    with screen.stage("Examining", 200) as tick:
        time.sleep(0.12)
        tick(50, left=750.0)
        time.sleep(0.12)
        tick(150)
    lines = out.getvalue().splitlines()
    assert lines[0] == "Examining 0 of 200, 0 s"
    assert "Examining 50 of 200, 0 s, about 12 min left" in lines
    assert lines[-1] == "Examining 200 of 200 in 0 s"
    assert "\x1b" not in out.getvalue()


def test_a_bar_shows_the_time_left_that_it_was_told_and_counts_it_down(shown):
    screen, out = shown(tty=True)
    with screen.stage("Examining", 200) as tick:
        tick(150, left=3600.0)
        time.sleep(0.3)
    assert any(text in out.getvalue() for text in ("1:00:00", "0:59:59"))


def test_quiet_is_quiet(capsys):
    with terminal.Terminal(quiet=True).stage("Examining", 2) as tick:
        tick(2, left=1.0)
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def runs(tmp_path):
    """A folder beside one finished run, where the command line is started as anybody starts it."""
    others = [name for name in MEASURES if name not in ("instances", "permutation")]
    write_run(tmp_path / "runs" / "made", 12, without=others)
    return tmp_path


def ended(folder, *arguments, **environment):
    command = [sys.executable, "-m", "attentest", *arguments]
    said = {"capture_output": True, "env": {**os.environ, **environment}}
    return subprocess.run(command, cwd=folder, check=False, **said)


def test_a_query_ends_without_words_of_the_libraries_below(runs):
    done = ended(runs, "show", "latest", "--sql", "SELECT count(*) FROM instances")
    assert (done.returncode, done.stderr) == (0, b"")
    refused = ended(runs, "show", "latest", "--sql", "SELECT")
    assert refused.returncode == 2
    assert refused.stderr.startswith(b"attentest: The query failed")
    assert refused.stderr.count(b"\n") == 1, refused.stderr.decode()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1:strict"])
def test_a_screen_without_some_characters_shows_others(runs, encoding):
    done = ended(runs, "show", "latest", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


@pytest.mark.parametrize("asked", [("show", "latest"), ("verify",), ("verify", "--json")])
def test_whoever_reads_no_further_ends_nothing_in_a_fault(runs, asked):
    command = [sys.executable, "-m", "attentest", *asked]
    with subprocess.Popen(command, cwd=runs, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stdout.close()
        said = child.stderr.read()
    assert (child.returncode, said) == (0, b"")


def test_a_refusal_that_nobody_reads_is_one_all_the_same(runs):
    command = [sys.executable, "-m", "attentest", "show", "none"]
    with subprocess.Popen(command, cwd=runs, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        child.stderr.close()
        said = child.stdout.read()
    assert (child.returncode, said) == (2, b"")


def test_a_closed_standard_input_holds_no_text(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    fails_in_one_line(run("explain", "-"), "The text is empty")


def test_a_folder_that_was_deleted_is_said(tmp_path):
    (tmp_path / "gone").mkdir()
    code = "import os; os.chdir('gone'); os.rmdir('../gone')\nfrom attentest.cli import main\nmain()"
    done = subprocess.run([sys.executable, "-c", code, "audit"], cwd=tmp_path, capture_output=True, check=False)
    said = b"attentest: The folder that this runs in was deleted: change to one that is there.\n"
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.parametrize("columns", ["0", "1", "20"])
def test_a_terminal_of_no_columns_shows_what_there_is(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    screen = io.StringIO()
    Printer(file=screen).print("a word or two")
    assert screen.getvalue() == "a word or two\n"

"""What campaigns are made of: a case is repeated by seed and number, and a bad end is a fault."""

from __future__ import annotations

import os
import sys

import pytest
import torch

from attentest.data.corpora import CORPORA
from tests.campaigns.campaign import Campaign, Fault, conduct
from tests.campaigns.inputs import in_fresh_process, judge
from tests.campaigns.made.kind import Case
from tests.campaigns.processes import Ended, attentest, refused, started


class Odd(Campaign):
    """Fails for every third number, and draws."""

    name, promise, quick, full = "odd", "nothing", 1, 1

    def __init__(self) -> None:
        self.drawn: list[float] = []

    def case(self, draw, number, folder):
        self.drawn.append(draw.random())
        (folder / "left").touch()
        if number % 3 == 0:
            raise Fault("third") if number else ValueError("first")
        return "fine"


def test_a_case_is_repeated_by_seed_and_number_and_faults_are_kept():
    whole, one, other = Odd(), Odd(), Odd()
    found = conduct(whole, range(7), seed=3)
    assert found.cases == 7
    assert found.kinds == {"fine": 4, "failed": 3}
    assert [number for number, _ in found.faults] == [0, 3, 6]
    assert "ValueError: first" in found.faults[0][1]
    conduct(one, [4], seed=3)
    conduct(other, [4], seed=4)
    assert one.drawn == whole.drawn[4:5] != other.drawn


def test_what_is_refused_in_one_line_passes_and_nothing_else(tmp_path):
    ended = attentest(["show", "none"], tmp_path)
    refused(ended, "no run")
    assert not list(tmp_path.iterdir())
    with pytest.raises(Fault, match="exit code 0"):
        refused(attentest(["--version"], tmp_path), "version")


def test_what_hangs_is_killed(tmp_path):
    ended = attentest(["audit"], tmp_path, seconds=0.3)
    assert ended.timed_out
    with pytest.raises(Fault, match="no end"):
        refused(ended, "hangs")


class Changes(Odd):
    """Changes the process it runs in."""

    def prepare(self, folder):
        self.process.setitem(CORPORA.own, "toy", object)
        torch.set_num_threads(torch.get_num_threads() + 1)


def test_what_a_campaign_changes_of_its_process_is_undone():
    before, threads = dict(CORPORA.own), torch.get_num_threads()
    assert conduct(Changes(), [1], seed=0).cases == 1
    assert CORPORA.own == before
    assert torch.get_num_threads() == threads


def test_what_a_user_does_not_see_is_no_fault(tmp_path):
    """pytest turns warnings into errors; a signal just after a file was opened leaves one to Python, which says so."""

    def left_open():
        sys.unraisablehook = sys.__unraisablehook__
        open(os.devnull)  # noqa: SIM115

    ended = started(["--version"], tmp_path, first=left_open).ended()
    assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize(
    "err",
    [
        "attentest: No such run.\nnanobind: leaked 3 instances!\n",
        "leaked\nattentest: No such run.\n",
        "attentest: No.\nattentest: No.\n",
        "attentest: No such run.",
        "attentest: No such run.\n\n",
        "No such run.\n",
        "\n",
        "",
    ],
)
def test_a_refusal_is_one_line_and_no_other(err):
    ended = Ended(2, "", err, 1.0, 0)
    for judged in (judge, refused):
        with pytest.raises(Fault, match="one line"):
            judged(ended, "two lines")


def test_progress_may_stand_before_a_refusal_and_nothing_beside_it_where_something_is_used():
    said = "Corpus  reviews: 10 training texts\n        5 left out\nTraining  2 of 8 in 3 s  loss 0.1\n"
    judge(Ended(2, "", f"{said}attentest: The disk is full.\n", 1.0, 0), "progress")
    judge(Ended(0, "fine\n", said, 1.0, 0), "progress")
    judge(Ended(2, "Usage: attentest people", "", 1.0, 0), "help")
    with pytest.raises(Fault, match="leaked 3"):
        judge(Ended(0, "fine\n", said + "leaked 3\n", 1.0, 0), "leaks")


def test_what_a_process_prints_while_it_ends_is_judged(tmp_path):
    ended = in_fresh_process(Case("no run", ("show", "none")), tmp_path)
    judge(ended, "no run")
    refused(ended, "no run")
    (tmp_path / "sitecustomize.py").write_text("import atexit, os\natexit.register(os.write, 2, b'leaked 3\\n')\n")
    late = in_fresh_process(Case("no run", ("show", "none"), environment={"PYTHONPATH": str(tmp_path)}), tmp_path)
    assert late.err.endswith("\nleaked 3\n")
    with pytest.raises(Fault, match="leaked 3"):
        judge(late, "no run")

"""A benchmark that cannot run says so in one line."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import ended, measuring, page
from benchmarks.measuring import Work, compared

from attentest.data.corpora import CORPORA
from attentest.errors import AttentestError


def test_what_is_refused_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        ended(lambda: print(CORPORA["nowhere"]))
    assert left.value.code == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), err.startswith("No corpus is called 'nowhere'")) == ("", 1, True)


def test_a_file_that_cannot_be_written_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        ended(lambda: print((tmp_path / "nowhere" / "out.json").write_text("")))
    assert left.value.code == 2
    assert "nowhere/out.json cannot be used: No such file" in capsys.readouterr().err


def test_the_page_of_speed_shows_the_figures_that_were_kept() -> None:
    shown = page.PAGE.read_text(encoding="utf-8")
    made = page.sections()
    assert all(f"<!-- {name} -->" in shown for name in made)
    assert page.filled(shown, made) == shown


def test_every_row_of_the_page_was_compared_where_it_can_be() -> None:
    rows = page.kept("speed")["rows"]
    assert len(rows) > 20
    assert sum("apart" in row for row in rows) > 14


def test_two_ways_are_timed_in_turns_and_the_slower_is_called_so() -> None:
    turns: list[str] = []

    def slow() -> None:
        turns.append("slow")
        time.sleep(0.03)

    found = compared(Work("work", "beside", slow, lambda: turns.append("fast"), clock=time.perf_counter), 3)
    assert turns == ["slow", "fast"] * 4
    assert found["theirs"] >= 0.03
    assert found["ratio"] > 1
    assert found["theirs spread"][0] <= found["theirs"] <= found["theirs spread"][1]


def test_long_work_is_counted_from_its_first_turn_on_in_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "LONG", 0.01)
    work = Work("work", "beside", lambda: time.sleep(0.03), lambda: time.sleep(0.002))
    found = compared(replace(work, clock=time.perf_counter), 5)
    assert found["turns"] == 2
    low, high = found["ratio spread"]
    assert low <= found["ratio"] <= high


def test_ways_that_give_different_things_are_not_timed() -> None:
    turns: list[str] = []
    work = Work("work", "beside", lambda: 1.0, lambda: turns.append("ours") or 1.5, lambda a, b: abs(a - b), 0.4)
    with pytest.raises(AttentestError, match=r"outputs differ by 0\.5, more than 0\.4"):
        compared(work, 3)
    assert turns == ["ours"]
    assert compared(replace(work, most=0.5), 1)["apart"] == 0.5

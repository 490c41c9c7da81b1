"""A benchmark that cannot run says so in one line."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from benchmarks import ended
from benchmarks.measuring import compared

from attentest.data.corpora import CORPORA


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
    folder = Path(__file__).parents[1] / "docs" / "explanation"
    page = (folder / "speed.md").read_text(encoding="utf-8")
    shown = page.partition("<!-- speed -->\n")[2].partition("\n<!-- /speed -->")[0].splitlines()[2:]
    kept = json.loads((folder / "speed.json").read_text(encoding="utf-8"))["rows"]
    assert len(shown) == len(kept) == 20
    for line, row in zip(shown, kept, strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert cells[:2] == [row["work"], row["beside"]]
        assert float(cells[4].split()[0]) == pytest.approx(row["theirs"] / row["ours"], abs=0.051)


def test_two_ways_are_timed_in_turns_and_the_slower_is_called_so() -> None:
    turns: list[str] = []

    def slow() -> None:
        turns.append("slow")
        time.sleep(0.03)

    found = compared(slow, lambda: turns.append("fast"), rounds=3)
    assert turns == ["slow", "fast"] * 4
    assert found["theirs"] >= 0.03
    assert found["ratio"] > 1
    assert found["theirs spread"][0] <= found["theirs"] <= found["theirs spread"][1]

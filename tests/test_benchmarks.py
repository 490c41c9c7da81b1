"""A benchmark that cannot run says so in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import ended

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

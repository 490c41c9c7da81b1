"""The notebook of the docs runs from top to bottom, and its cells show what a notebook would."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorial" / "first-audit.ipynb"


def cells(kind: str) -> list[str]:
    made = json.loads(NOTEBOOK.read_text("utf-8"))
    assert made["nbformat"] == 4
    return ["".join(cell["source"]) for cell in made["cells"] if cell["cell_type"] == kind]


def run(code: str, known: dict[str, Any]) -> Any:
    """Run a cell; the value of its last line, where that is an expression, as a notebook shows it."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(NOTEBOOK), "exec"), known)
    return None if last is None else eval(compile(ast.Expression(last.value), str(NOTEBOOK), "eval"), known)


def test_no_cell_keeps_an_output() -> None:
    for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    widgets = pytest.importorskip("anywidget")
    monkeypatch.chdir(tmp_path)
    known: dict[str, Any] = {}
    shown = [run(code, known) for code in cells("code")]
    assert [type(value).__name__ for value in shown if isinstance(value, widgets.AnyWidget)] == ["TextWidget"]
    frames = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert len(frames) == 5
    assert sum(frame.startswith("<iframe sandbox") for frame in frames) == 2
    assert not any(re.search(r"<script", frame) for frame in frames)
    said = capsys.readouterr().out
    assert known["audit"].verdict.headline.split(".")[0] in " ".join(said.split())
    assert Path(said.split()[-1]).is_file()

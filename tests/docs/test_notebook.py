"""The notebook of the docs runs from top to bottom, and its cells show what a notebook would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attentest.report.verdict.judge import judge
from attentest.store.folder import RunFolder

WIDGET = "application/vnd.jupyter.widget-view+json"
NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorial" / "first-audit.ipynb"


def outputs(notebook: Any) -> Iterator[dict[str, Any]]:
    for cell in notebook["cells"]:
        yield from cell.get("outputs", ())


def test_no_cell_keeps_an_output() -> None:
    for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom_in_a_kernel(tmp_path: Path) -> None:
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("anywidget")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute(cwd=tmp_path)
    (said,) = (output for output in outputs(notebook) if output["output_type"] == "stream")
    report = tmp_path / said["text"].strip()
    assert report.is_file()
    shown = [output["data"] for output in outputs(notebook) if "data" in output]
    widgets = [data[WIDGET] for data in shown if WIDGET in data]
    states = notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    assert [states[one["model_id"]]["state"]["_anywidget_id"].rpartition(".")[2] for one in widgets] == ["TextWidget"]
    frames = [data["text/html"] for data in shown if "text/html" in data]
    assert sum(frame.startswith("<iframe sandbox") for frame in frames) == 2
    assert not any("<script" in frame for frame in frames)
    printed = " ".join(" ".join(data["text/plain"] for data in shown).split())
    assert judge(RunFolder(report.parent)).headline.split(".")[0] in printed

"""The widget where people see it: in JupyterLab and in marimo, each with its own server, kernel and page.

They are large, so no extra installs them: ``pip install jupyterlab marimo`` before these tests.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.notebook.test_widget import some_text
from tests.report.pages.test_browser import CHROMIUM, FLAGS

from attentest.report.notebook.widget import shown_text
from attentest.store.folder import RunFolder

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed at /usr/bin/chromium"),
]

CELL = """from pathlib import Path
from attentest.report.notebook.widget import text_widget
from attentest.store.folder import RunFolder
text_widget(RunFolder(Path({path!r})), {text!r})
"""
MARIMO = """import marimo
app = marimo.App()

@app.cell
def _():
    {cell}
    return

if __name__ == "__main__":
    app.run()
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield opened
        opened.close()


@pytest.fixture
def server() -> Iterator[Callable[..., str]]:
    """Start a server of notebooks on a free port; its address, once it answers."""
    started: list[subprocess.Popen[bytes]] = []

    def start(folder: Path, *words: str) -> str:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", *words, f"--port={port}"]
        # Windows that were open before, and settings, are those of whoever works here.
        own = {name: str(folder / "own") for name in ("JUPYTER_CONFIG_DIR", "JUPYTERLAB_WORKSPACES_DIR")}
        with (folder / "log").open("wb") as log:
            about: dict[str, Any] = {"stdout": log, "stderr": subprocess.STDOUT, "env": {**os.environ, **own}}
            started.append(subprocess.Popen(command, cwd=folder, **about))
        for _ in range(400):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/").close()
                return f"http://127.0.0.1:{port}"
            except OSError:
                time.sleep(0.2)
        raise AssertionError((folder / "log").read_text())

    yield start
    for process in started:
        process.terminate()
        process.wait(30)


def opened(browser: Any, address: str) -> Any:
    page = browser.new_page(viewport={"width": 1100, "height": 1000})
    page.set_default_timeout(60_000)
    page.requests = []
    page.on("request", lambda request: page.requests.append(request.url))
    page.goto(address)
    return page


def weights(page: Any) -> np.ndarray:
    values = page.locator(".bar").evaluate_all("all => all.map(one => Number(one.getAttribute('aria-valuenow')))")
    return np.array(values)


def predicted(page: Any) -> list[float]:
    found = page.locator(".results .p").evaluate_all("all => all.map(one => Number(one.dataset.value))")
    return [float(chance) for chance in found]


def expected(text: dict[str, Any], put: np.ndarray) -> list[float]:
    logits = put / put.sum() @ np.array(text["token_logits"])
    chances = np.exp(logits - logits.max())
    return [float(chance) for chance in chances / chances.sum()]


def changed_by_hand_and_by_key(page: Any, text: dict[str, Any]) -> None:
    """Drag a bar, step it, type into it: the prediction is what Python computes, and the notebook lets it be."""
    bar = page.locator(".bar").nth(1)
    bar.wait_for()
    assert page.locator(".heatmap tbody").first.locator("th").count() == 5
    assert predicted(page) == pytest.approx(expected(text, np.array(text["attention"])), abs=1e-9)
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    across = box["x"] + box["width"] / 2
    page.mouse.move(across, box["y"] + box["height"] * 0.95)
    page.mouse.down()
    page.mouse.move(across, box["y"] + box["height"] * 0.1, steps=4)
    page.mouse.up()
    dragged = weights(page)
    assert dragged[1] > text["attention"][1] + 0.01
    assert predicted(page) == pytest.approx(expected(text, dragged), abs=1e-4)
    assert predicted(page) != pytest.approx(expected(text, np.array(text["attention"])), abs=1e-4)
    page.keyboard.press("ArrowUp")
    assert weights(page)[1] == pytest.approx(dragged[1] + 0.01, abs=1e-6)
    page.keyboard.press("ArrowRight")
    field = page.get_by_label("Weight of the chosen word")
    field.click()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.type("0.00")
    page.keyboard.press("Enter")
    assert weights(page)[2] == 0
    assert predicted(page) == pytest.approx(expected(text, weights(page)), abs=1e-4)


def alone(page: Any, address: str) -> None:
    """Nothing was asked of anyone else."""
    assert [url for url in page.requests if not url.startswith((address, "data:", "blob:"))] == []


def run_first_cell(page: Any) -> None:
    """Press Shift and Enter in it until it runs: what is pressed before the kernel is ready is lost."""
    prompt = page.locator(".jp-InputPrompt").first
    for _ in range(10):
        page.locator(".jp-Notebook .cm-content").first.click()
        page.keyboard.press("Shift+Enter")
        for _ in range(20):
            if prompt.inner_text().strip() not in ("[ ]:", ""):
                return
            page.wait_for_timeout(250)
    raise AssertionError(f"the cell did not run: {prompt.inner_text()}")


def test_jupyterlab(browser: Any, server: Callable[..., str], run: RunFolder, tmp_path: Path) -> None:
    pytest.importorskip("jupyterlab")
    nbformat = pytest.importorskip("nbformat")
    text = shown_text(run, some_text(run)["id"])
    cell = CELL.format(path=str(run.path), text=text["id"])
    made = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell), nbformat.v4.new_code_cell("1 + 1")],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(made, tmp_path / "text.ipynb")
    quietly = ("--no-browser", "--allow-root", "--IdentityProvider.token=", "--LabApp.news_url=None")
    address = server(tmp_path, "jupyterlab", *quietly)
    page = opened(browser, f"{address}/lab/tree/text.ipynb")
    run_first_cell(page)
    changed_by_hand_and_by_key(page, text)
    # Nothing that was typed was taken for a shortcut: 0 0 asks to restart the kernel, d d deletes a cell.
    assert page.locator(".jp-Dialog").count() == 0
    assert page.locator(".jp-Cell").count() == 2
    alone(page, address)


@pytest.mark.parametrize("how", ["run", "edit"])
def test_marimo(browser: Any, server: Callable[..., str], run: RunFolder, tmp_path: Path, how: str) -> None:
    pytest.importorskip("marimo")
    text = shown_text(run, some_text(run)["id"])
    cell = CELL.format(path=str(run.path), text=text["id"])
    (tmp_path / "app.py").write_text(MARIMO.format(cell=cell.strip().replace("\n", "\n    ")))
    address = server(tmp_path, "marimo", how, "app.py", "--headless", "--no-token")
    page = opened(browser, address)
    if how == "edit":
        # A press before the kernel is ready is lost.
        with page.expect_websocket() as found:
            page.reload()
        found.value.wait_for_event("framereceived", lambda frame: "completed-run" in str(frame))
        page.get_by_test_id("run-button").last.click()
    changed_by_hand_and_by_key(page, text)
    alone(page, address)

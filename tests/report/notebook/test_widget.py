"""The widget of a text: offline, in a shadow tree, with the numbers that Python computes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.report.made_up import HOSTILE
from tests.report.made_up_verdict import made_up_verdict
from tests.report.pages.test_browser import CHROMIUM, FLAGS

from attentest.auditing import Audit
from attentest.errors import InputError, UnknownName
from attentest.report.notebook.widget import shown_text, text_widget, widget_module
from attentest.store.folder import RunFolder


def some_text(run: RunFolder) -> dict[str, Any]:
    rows = run.findings("instances").table.to_pylist()
    return next(row for row in rows if len(row["tokens"]) > 8)


def test_the_widget_holds_what_the_findings_hold(run: RunFolder) -> None:
    pytest.importorskip("anywidget")
    text = some_text(run)
    widget = Audit(run, made_up_verdict()).show(text["id"])
    assert widget.text["tokens"] == text["tokens"]
    assert widget.text["attention"] == text["attention"]
    assert widget.text["token_logits"] == text["token_logits"]
    assert widget.text["classes"] == ["negative", "positive"]
    assert list(widget.text["explainers"]) == ["gradient", "gradient_state", "leave_one_out", "state_erasure"]
    assert widget.text["epsilon"] == 0.01
    json.dumps(widget.text, allow_nan=False)


def test_a_text_that_is_not_there_is_refused(run: RunFolder) -> None:
    with pytest.raises(UnknownName, match=r"text of this run is called 'test-0001'"):
        shown_text(run, "test-0001")


def test_without_anywidget_one_line_says_what_to_install(run: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(InputError, match=r"pip install 'attentest\[notebook\]'"):
        text_widget(run, some_text(run)["id"])


def test_the_module_fetches_nothing() -> None:
    source = widget_module()
    assert "/*modules*/" not in source
    assert "/*style*/" not in source
    for word in ("http://", "https://", "innerHTML", "eval("):
        assert word not in source.replace("http://www.w3.org/2000/svg", "")


DRAW = """async ([source, text]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const widget = (await import(url)).default;
  await widget.render({ model: { get: () => text }, el: document.getElementById("cell") });
}"""


@pytest.fixture
def page() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        page = browser.new_page(viewport={"width": 900, "height": 900})
        page.complaints, page.requests = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.set_content("<h3 id='other'>a notebook</h3><div id='cell'></div>")
        yield page
        browser.close()


@pytest.mark.browser
@pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="Chromium is not installed at /usr/bin/chromium")
def test_a_changed_weight_moves_the_prediction_to_what_python_computes(run: RunFolder, page: Any) -> None:
    text = shown_text(run, some_text(run)["id"])
    before = page.locator("#other").evaluate("one => getComputedStyle(one).fontSize")
    page.evaluate(DRAW, [widget_module(), text])
    page.locator(".heatmap table").first.wait_for()
    assert page.locator(".heatmap tbody").first.locator("th").count() == 5
    page.locator("input[type=number]").first.fill("0")
    page.locator("input[type=number]").first.blur()
    weights = np.array(text["attention"])
    weights[0] = 0
    weights /= weights.sum()
    logits = weights @ np.array(text["token_logits"])
    chances = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    shown = page.locator("#cell .page").inner_text()
    assert f"{chances.max():.4f}" in shown
    assert f"{chances.min():.4f}" in shown
    assert page.complaints == []
    assert [url for url in page.requests if not url.startswith(("blob:", "data:", "about:"))] == []
    assert page.locator("#other").evaluate("one => getComputedStyle(one).fontSize") == before


@pytest.mark.browser
@pytest.mark.skipif(not Path(CHROMIUM).exists(), reason="Chromium is not installed at /usr/bin/chromium")
def test_hostile_words_are_text(run: RunFolder, page: Any) -> None:
    text = shown_text(run, some_text(run)["id"])
    words = [*HOSTILE, *text["tokens"]][: len(text["tokens"])]
    page.evaluate(DRAW, [widget_module(), text | {"tokens": words, "classes": list(HOSTILE[:2])}])
    page.locator(".heatmap table").first.wait_for()
    assert page.complaints == []
    assert page.locator("#cell script, #cell img").count() == 0
    assert HOSTILE[0] in page.locator("#cell .page").inner_text()

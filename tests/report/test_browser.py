"""The page as a browser shows it: nothing fetched, nothing run, everything seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.report.made_up import HOSTILE

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed at /usr/bin/chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield opened
        opened.close()


@pytest.fixture(params=["light", "dark", "phone"])
def window(request: pytest.FixtureRequest, browser: Any) -> Iterator[Any]:
    width = 390 if request.param == "phone" else 1280
    colours = "dark" if request.param == "dark" else "light"
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=colours)
    page.complaints, page.requests = [], []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
    page.on("request", lambda request: page.requests.append(request.url))
    yield page
    page.close()


def test_the_report_opens_without_complaints_and_without_the_network(window: Any, report: Path) -> None:
    window.goto(report.as_uri())
    assert window.complaints == []
    assert [url for url in window.requests if not url.startswith(("file:", "data:"))] == []
    assert sum(url.startswith("file:") for url in window.requests) == 1


def test_every_figure_is_drawn_and_fits(window: Any, report: Path) -> None:
    window.goto(report.as_uri())
    images = window.locator("figure img")
    assert images.count() == 18
    for image in images.all():
        assert image.is_visible()
        assert image.evaluate("image => image.naturalWidth") > 200
        box = image.bounding_box()
        assert box["width"] > 200
        assert box["x"] + box["width"] <= window.viewport_size["width"]


def test_the_page_never_scrolls_sideways(window: Any, hostile_report: Path) -> None:
    window.goto(hostile_report.as_uri())
    assert window.evaluate("document.documentElement.scrollWidth") <= window.viewport_size["width"]


def test_hostile_tokens_and_names_are_text(window: Any, hostile_report: Path) -> None:
    window.goto(hostile_report.as_uri())
    assert window.complaints == []
    assert window.locator("script").count() == 0
    assert window.locator("img:not([src^='data:'])").count() == 0
    text = window.locator("body").inner_text()
    for token in (HOSTILE[0], HOSTILE[1], "‹U+202E›evil‹U+202C›", "[bold red]markup[/]"):
        assert token in text
    assert "owned" not in window.title()

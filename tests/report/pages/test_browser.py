"""The page as a browser shows it: nothing fetched, nothing run, everything seen."""

from __future__ import annotations

import base64
import re
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


def unfolded(page: Any, report: Path) -> None:
    """Open the page, and all that is folded in it."""
    page.goto(report.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")


def test_every_figure_is_drawn_and_fits(window: Any, report: Path) -> None:
    unfolded(window, report)
    images = window.locator("figure img")
    assert images.count() == window.locator("figure").count() >= 19
    for image in images.all():
        assert image.is_visible()
        assert image.evaluate("image => image.naturalWidth") > 200
        box = image.bounding_box()
        assert box["width"] > 200
        assert box["x"] + box["width"] <= window.viewport_size["width"]


#: Of a drawing: words that leave it, and words that run into others; those that are turned may share a box.
READABLE = """() => {
  const svg = document.querySelector("svg"), frame = svg.getBoundingClientRect();
  const words = [...svg.querySelectorAll("text")].filter(text => text.textContent.trim());
  const boxes = words.map(text => [text.textContent, text.getBoundingClientRect(), /rotate/.test(text.outerHTML)]);
  const out = boxes.filter(([, box]) => box.left < frame.left - 1 || box.right > frame.right + 1
    || box.top < frame.top - 1 || box.bottom > frame.bottom + 1).map(([word]) => word);
  const upright = boxes.filter(([, , turned]) => !turned);
  const together = upright.flatMap(([word, a], place) => upright.slice(place + 1).filter(([, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1.5
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4).map(([other]) => `${word} | ${other}`));
  return [...out, ...together];
}"""


def test_no_word_of_a_figure_is_cut_off_or_runs_into_another(browser: Any, report: Path) -> None:
    page = browser.new_page()
    drawings = re.findall(r'src(?:set)?="data:image/svg\+xml;base64,([^"]+)"', report.read_text("utf-8"))
    assert len(drawings) >= 18
    for drawing in drawings:
        page.set_content(f"<body style='margin: 40px'>{base64.b64decode(drawing).decode()}</body>")
        assert page.evaluate(READABLE) == []
    page.close()


def test_a_table_that_goes_on_beside_a_phone_says_so(browser: Any, report: Path) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    unfolded(page, report)
    wide = page.locator(".scroll:has(> table)")
    assert wide.count() >= 4
    for table in wide.all():
        assert table.evaluate("one => one.scrollWidth > one.clientWidth")
        assert "scroll" in table.evaluate("one => getComputedStyle(one, '::before').content")
        assert "gradient" in table.evaluate("one => getComputedStyle(one).backgroundImage")
    page.close()


def test_the_answers_and_the_contents_stay_in_reach(window: Any, report: Path) -> None:
    window.goto(report.as_uri())
    contents = window.locator(".contents")
    window.locator("#limits").scroll_into_view_if_needed()
    assert contents.bounding_box()["y"] == 0
    assert contents.bounding_box()["height"] < 120
    assert all(answer.is_visible() for answer in contents.locator(".answers li").all())
    if window.viewport_size["width"] < 1100:
        assert not contents.locator("ol a").first.is_visible()
        contents.locator("summary").click()
    contents.locator("ol a", has_text="Figures").click()
    below = window.locator("#figures h2").bounding_box()["y"]
    assert contents.bounding_box()["height"] - 1 <= below < 300


def test_folded_parts_open_by_keyboard_and_in_print(window: Any, report: Path) -> None:
    window.goto(report.as_uri())
    numbers = window.locator("#numbers table")
    assert not numbers.is_visible()
    window.locator("#numbers summary").focus()
    window.keyboard.press("Enter")
    assert numbers.is_visible()
    window.goto(report.as_uri())
    window.emulate_media(media="print")
    assert not window.locator(".contents").is_visible()
    assert numbers.bounding_box()["height"] > 1000
    tops = window.locator("#examples .example").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().height)"
    )
    assert min(tops) > 100


def test_the_page_never_scrolls_sideways(window: Any, hostile_report: Path) -> None:
    unfolded(window, hostile_report)
    assert window.evaluate("document.documentElement.scrollWidth") <= window.viewport_size["width"]


def test_hostile_tokens_and_names_are_text(window: Any, hostile_report: Path) -> None:
    unfolded(window, hostile_report)
    assert window.complaints == []
    assert window.locator("script").count() == 0
    assert window.locator("img:not([src^='data:'])").count() == 0
    text = window.locator("body").inner_text()
    for token in (HOSTILE[0], HOSTILE[1], "‹U+202E›evil‹U+202C›", "[bold red]markup[/]"):
        assert token in text
    assert "owned" not in window.title()


@pytest.mark.slow
def test_axe_finds_nothing_serious(window: Any, report: Path) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    unfolded(window, report)
    serious = [
        (rule["id"], [node["html"][:200] for node in rule["nodes"]][:3])
        for rule in axe.Axe().run(window, context={"exclude": [["svg"]]}).response["violations"]
        if rule["impact"] in ("serious", "critical")
    ]
    assert serious == []

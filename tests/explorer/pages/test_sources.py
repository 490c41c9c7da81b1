"""Audits of sources in a browser: from the list to a passage, by mouse and keyboard; a link shows the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.explorer.pages.conftest import Site, quiet, ready
from tests.explorer.pages.test_access import reach_every_control, serious
from tests.explorer.sources.made_up_audit import HOSTILE, made_up_record

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def shades(page: Any) -> list[float]:
    """How strongly every passage is shaded."""
    found = page.locator(".passages .token").evaluate_all(
        "all => all.map(one => Number(one.style.getPropertyValue('--a')))"
    )
    return [float(shade) for shade in found]


def expected(scores: list[float]) -> list[float]:
    largest = max(map(abs, scores))
    return [0.9 * abs(score) / largest for score in scores]


def test_from_the_list_to_a_question_and_by_every_method(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), site.address)
    page.get_by_role("link", name="Sources", exact=True).click()
    page.get_by_role("link", name=site.cited).click()
    page.get_by_role("region", name="Methods").get_by_text("leave-one-out").wait_for()
    page.get_by_role("link", name="Where is thing 7?").click()
    page.get_by_role("heading", name="Where is thing 7?").wait_for()
    record = made_up_record(7)
    assert shades(page) == pytest.approx(expected(record.given["attention"].scores), abs=1e-3)
    fall = record.drops[2]
    assert f"the answer falls by {fall:.2f} without it" in page.locator("#source-3").inner_text()
    assert "first by attention" in page.locator("#source-3").inner_text()
    assert "decides, by exchange" in page.locator("#source-3").inner_text()
    page.get_by_label("shaded by").select_option("gradient_x_input")
    assert shades(page) == pytest.approx(expected(record.given["gradient_x_input"].scores), abs=1e-3)
    assert page.url.endswith("/questions/7?method=gradient_x_input")
    page.locator("#methods table").get_by_role("button", name="leave-one-out").click()
    assert shades(page) == pytest.approx(expected(record.given["leave_one_out"].scores), abs=1e-3)
    page.go_back()
    assert shades(page) == pytest.approx(expected(record.given["gradient_x_input"].scores), abs=1e-3)
    quiet(page, site)


def test_every_method_stands_beside_every_source(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), f"{site.address}/sources/{site.cited}/questions/7")
    record = made_up_record(7)
    rows = page.locator("#methods .aligned tbody tr")
    # What leaving out does, four methods, and the heads learnt on other questions.
    assert rows.count() == 6
    told = [float(text.replace("−", "-")) for text in rows.first.locator(".value").all_inner_texts()]
    assert told == pytest.approx(record.drops.tolist(), abs=1e-3)
    page.get_by_role("button", name="source 4").click()
    assert page.evaluate("document.activeElement.id") == "source-4"
    page.get_by_text("The attention of each of 2 layers").click()
    page.locator("#layers .aligned tbody tr").first.wait_for()
    assert page.locator("#layers .aligned tbody tr").count() == 2
    quiet(page, site)


def test_a_link_shows_the_same_in_a_fresh_browser(window: Callable[..., Any], site: Site) -> None:
    at = f"{site.address}/sources/{site.cited}"
    page = ready(window(), at)
    page.get_by_label("where the answer").select_option("known")
    page.get_by_text("6 of 60 questions").wait_for()
    page.get_by_label("where another source").select_option("attention")
    page.get_by_text("0 of 60 questions").wait_for()
    page.get_by_label("where the answer").focus()
    page.get_by_label("where the answer").select_option("")
    page.get_by_text("16 of 60 questions").wait_for()
    assert page.evaluate("document.activeElement.dataset.filter") == "status"
    again = ready(window(), page.url)
    assert again.get_by_text("16 of 60 questions").count() == 1
    assert again.get_by_label("where another source").input_value() == "attention"
    again.get_by_role("button", name="all questions").click()
    again.get_by_text("page 1 of 3").wait_for()
    again.get_by_role("button", name="later").click()
    again.get_by_text("page 2 of 3").wait_for()
    last = ready(window(), again.url)
    assert last.get_by_text("page 2 of 3").count() == 1
    chosen = ready(window(), f"{at}/questions/7?method=leave_one_out")
    assert shades(chosen) == pytest.approx(expected(made_up_record(7).drops.tolist()), abs=1e-3)
    quiet(last, site)


def test_hostile_passages_are_text(window: Callable[..., Any], site: Site) -> None:
    for width in (1280, 390):
        page = ready(window(width=width), f"{site.address}/sources/{site.cited}/questions/2")
        assert "owned" not in page.title()
        assert page.locator("#page img, #page script").count() == 0
        assert page.get_by_role("heading", name=HOSTILE[0]).count() == 1
        assert HOSTILE[3] in page.locator("#source-4").inner_text()
        assert "‹U+202E›" in page.locator("#source-5").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        quiet(page, site)
    ready(page, f"{site.address}/sources/{site.cited}")
    assert page.get_by_text("a <b>model</b>").count() == 1
    assert "no <b>gradients</b>" in ready(page, f"{site.address}/sources/{site.cited}/questions/1").content().replace(
        "&lt;", "<"
    ).replace("&gt;", ">")
    quiet(page, site)


def test_words_of_sources_are_shaded_one_by_one(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), f"{site.address}/sources/{site.words}/questions/0")
    assert page.locator(".passages li").count() == 5
    assert len(shades(page)) == 25
    assert serious(page) == []
    reach_every_control(page)
    quiet(page, site)


def test_what_is_wrong_with_an_address_is_a_line(window: Callable[..., Any], site: Site) -> None:
    page = window()
    page.goto(f"{site.address}/sources/{site.cited}?status=maybe")
    page.get_by_role("alert").wait_for()
    assert "No status of these questions is called 'maybe'" in page.get_by_role("alert").inner_text()
    page.get_by_role("button", name="all questions").click()
    page.get_by_text("60 questions", exact=True).wait_for()
    assert page.get_by_role("alert").count() == 0

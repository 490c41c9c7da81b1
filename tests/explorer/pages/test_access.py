"""Every page for everyone: nothing serious by axe-core's rules, every control by keyboard; light, dark, narrow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.explorer.pages.conftest import Site, ready

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGES = {
    "home": "/",
    "study": "/studies/small?experiment=uniform",
    "run": "/runs/{real}",
    "texts": "/runs/{real}/texts",
    "text": "/runs/{real}/texts/0",
    "as texts": "/runs/{real}/texts/1?view=texts&numbers=1&w=adversary",
    "hostile": "/runs/{hostile}/texts/7",
    "own text": "/runs/{real}/read",
    "claims": "/claims",
    "a paper": "/claims/serrano_smith_2019",
    "calibration": "/calibration",
    "sources": "/sources",
    "cited": "/sources/{cited}",
    "question": "/sources/{cited}/questions/1?method=leave_one_out",
    "hostile question": "/sources/{cited}/questions/2",
}
WINDOWS = {"light": {}, "dark": {"colours": "dark"}, "phone": {"width": 390}}


def address(site: Site, page: str) -> str:
    return site.address + PAGES[page].format(real=site.real.name, hostile=site.hostile.name, cited=site.cited)


def serious(page: Any) -> list[tuple[str, list[str]]]:
    """What axe-core finds serious, and where."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    return [
        (rule["id"], [node["html"][:200] for node in rule["nodes"]][:3])
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("how", WINDOWS)
def test_axe_finds_nothing_serious(window: Callable[..., Any], site: Site, page: str, how: str) -> None:
    opened = ready(window(**WINDOWS[how]), address(site, page))
    assert serious(opened) == []
    assert opened.complaints == []
    assert opened.evaluate("document.documentElement.scrollWidth") <= opened.viewport_size["width"]


#: Every control that can be seen, and those that have had the focus.
CONTROLS = """() => {
  const kinds = "a[href], button, input, select, textarea, summary, [tabindex='0'], [role=slider], [role=link], .heat";
  const seen = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && one.tabIndex > -2;
  window.met = new Set();
  window.controls = [...document.querySelectorAll(kinds)].filter(seen);
  return window.controls.length;
}"""
#: Where the next Tab begins.
FROM_THE_TOP = """() => {
  const top = document.createElement("span");
  top.tabIndex = -1;
  document.body.prepend(top);
  top.focus();
  top.remove();
}"""
#: Whether the focus is on something new, and whether that shows.
FOCUSED = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const fresh = !window.met.has(one);
  window.met.add(one);
  const style = getComputedStyle(one);
  return [fresh, style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1];
}"""
#: Stops that stand for many.
STOPS = """() => {
  window.stops = [...window.met].filter((one) => one.matches(".bar, .point, .heat, .column, .token"));
  return window.stops.length;
}"""
MISSED = """() => {
  const missed = window.controls.filter((one) => !window.met.has(one) && one.isConnected);
  return missed.map((one) => one.outerHTML.slice(0, 200));
}"""


def pressed(page: Any, key: str, most: int) -> None:
    """Press a key for as long as it leads to something new, which shows that it has the focus."""
    for _ in range(most):
        page.keyboard.press(key)
        found = page.evaluate(FOCUSED)
        if found is None or not found[0]:
            break
        assert found[1], page.evaluate("document.activeElement.outerHTML.slice(0, 200)")


def reach_every_control(page: Any) -> None:
    """By Tab, and where one stop stands for many by arrow keys."""
    wanted = page.evaluate(CONTROLS)
    page.evaluate(FROM_THE_TOP)
    pressed(page, "Tab", wanted + 10)
    for stop in range(page.evaluate(STOPS)):
        page.evaluate("stop => window.stops[stop].focus()", stop)
        pressed(page, "ArrowRight", wanted)
    assert page.evaluate(MISSED) == []


@pytest.mark.parametrize("page", [*PAGES, "error"])
def test_every_control_is_reached_by_keyboard_and_shows_it(window: Callable[..., Any], site: Site, page: str) -> None:
    opened = window()
    if page == "error":
        opened.goto(f"{site.address}/runs/none")
    else:
        ready(opened, address(site, page))
    reach_every_control(opened)

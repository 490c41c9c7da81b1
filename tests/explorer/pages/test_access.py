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
}
WINDOWS = {"light": {}, "dark": {"colours": "dark"}, "phone": {"width": 390}}


def address(site: Site, page: str) -> str:
    return site.address + PAGES[page].format(real=site.real.name, hostile=site.hostile.name)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("how", WINDOWS)
def test_axe_finds_nothing_serious(window: Callable[..., Any], site: Site, page: str, how: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    opened = ready(window(**WINDOWS[how]), address(site, page))
    found = axe.Axe().run(opened).response["violations"]
    serious = [
        (rule["id"], [node["html"][:200] for node in rule["nodes"]][:3])
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]
    assert serious == []
    assert opened.complaints == []
    assert opened.evaluate("document.documentElement.scrollWidth") <= opened.viewport_size["width"]


#: Of every control that can be seen: a line to know it by. Those that arrow keys lead to have no tab stop.
CONTROLS = """() => {
  const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")];
  const seen = all.filter((one) => one.checkVisibility({ visibilityProperty: true }));
  return seen.filter((one) => one.tabIndex >= 0 && !one.disabled).length;
}"""
FOCUSED = """() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  window.met ??= new Set();
  const fresh = !window.met.has(one);
  window.met.add(one);
  const style = getComputedStyle(one);
  return [fresh, style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1];
}"""


@pytest.mark.parametrize("page", ["home", "run", "text", "own text", "a paper"])
def test_every_control_is_reached_by_keyboard_and_shows_it(window: Callable[..., Any], site: Site, page: str) -> None:
    opened = ready(window(), address(site, page))
    wanted, met = opened.evaluate(CONTROLS), 0
    assert wanted > 5 or page == "own text"
    for _ in range(wanted + 10):
        opened.keyboard.press("Tab")
        found = opened.evaluate(FOCUSED)
        if found is not None and found[0]:
            met += 1
            assert found[1], opened.evaluate("document.activeElement.outerHTML.slice(0, 200)")
    assert met >= wanted

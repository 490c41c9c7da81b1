"""Texts chosen in a plot, by hand or by keyboard: listed, marked in every plot, and there again by the link."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from tests.explorer.pages.conftest import Site, quiet, ready

from attentest.explorer.data.files import RunFiles
from attentest.explorer.data.plots import plot_of
from attentest.explorer.data.selection import CORNERS, inside

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PLOT = "agreement"


def numbers(run: Path, plot: str = PLOT) -> tuple[np.ndarray, np.ndarray]:
    x, y, _ = plot_of(RunFiles(run), plot).values(RunFiles(run))
    return x, y


def draw(page: Any, places: list[tuple[float, float]]) -> str:
    """Draw a line through these places, shares of the plot's width and height; what the address then says."""
    drawing = page.locator(f"[data-plot={PLOT}] svg")
    drawing.scroll_into_view_if_needed()
    box = drawing.bounding_box()
    for i, (x, y) in enumerate(places):
        page.mouse.move(box["x"] + box["width"] * x, box["y"] + box["height"] * y, steps=4)
        if i == 0:
            page.mouse.down()
    page.mouse.up()
    page.locator("#how-many", has_text="chosen").wait_for()
    (said,) = parse_qs(urlsplit(page.evaluate("location.href")).query)["sel"]
    return str(said)


def rows_of(page: Any, which: str, plot: str = PLOT) -> set[int]:
    found = page.locator(f"[data-plot={plot}] {which}")
    return {int(row) for row in found.evaluate_all("all => all.map(one => one.dataset.row)")}


def listed(page: Any) -> set[int]:
    links = page.locator("#texts td.clip a").evaluate_all("all => all.map(one => one.getAttribute('href'))")
    return {int(link.rpartition("/")[2]) for link in links}


def test_a_loop_drawn_by_hand(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), f"{site.address}/runs/{site.hostile.name}")
    # Not quite closed, and dented on one side.
    angles = np.linspace(0, 2 * np.pi, 30)[:-1]
    around = [(0.74 + (0.09 - 0.03 * (a > 4)) * np.cos(a), 0.3 + 0.08 * np.sin(a)) for a in angles]
    plot, kind, said = draw(page, around).split(":")
    assert (plot, kind) == (PLOT, "loop")
    corners = np.array([float(one) for one in said.split(",")]).reshape(-1, 2)
    assert 8 <= len(corners) <= CORNERS
    x, y = numbers(site.hostile)
    expected = set(np.flatnonzero(inside(corners, x, y)).tolist())
    assert 3 < len(expected) < 25
    assert listed(page) == rows_of(page, ".point.in") == expected
    line = f"{len(expected)} of 40 texts chosen in the plot"
    assert page.locator("#how-many").inner_text() == page.locator(".selection b").inner_text() == line
    page.get_by_role("button", name="go to them").click()
    assert page.evaluate("document.activeElement.closest('#texts') !== null")
    for other in ("uniform", "flip_sets"):
        assert rows_of(page, ".point.in", other) == expected & rows_of(page, ".point", other)
    assert page.locator(f"[data-plot={PLOT}] .lasso").count() == page.locator(".lasso").count() == 1
    quiet(page, site)

    again = ready(window(), page.evaluate("location.href"))
    again.locator("#how-many", has_text="chosen").wait_for()
    assert listed(again) == rows_of(again, ".point.in") == expected
    outline = "one => one.getAttribute('points')"
    assert again.locator(".lasso").evaluate(outline) == page.locator(".lasso").evaluate(outline)
    again.get_by_role("button", name="all texts").click()
    again.locator("#how-many", has_not_text="chosen").wait_for()
    assert again.locator(".point.in, .lasso").count() == 0
    assert again.locator(".selection").is_hidden()
    again.go_back()
    again.locator("#how-many", has_text="chosen").wait_for()
    assert rows_of(again, ".point.in") == expected


def test_a_rectangle_is_drawn_with_shift_or_typed(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), f"{site.address}/runs/{site.hostile.name}")
    x, y = numbers(site.hostile)
    page.keyboard.down("Shift")
    said = draw(page, [(0.74, 0.1), (0.98, 0.3)])
    page.keyboard.up("Shift")
    x0, x1, y0, y1 = (float(one) for one in said.removeprefix(f"{PLOT}:").split(","))
    expected = set(np.flatnonzero((x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)).tolist())
    assert 0 < len(expected) < 40
    assert listed(page) == rows_of(page, ".point.in") == expected

    least = round(float(np.median(y)), 2)
    panel = page.locator(f"[data-plot={PLOT}]")
    panel.locator("summary").focus()
    page.keyboard.press("Enter")
    panel.locator("input").nth(2).focus()
    page.keyboard.type(str(least))
    page.keyboard.press("Enter")
    expected = set(np.flatnonzero(y >= least).tolist())
    page.locator("#how-many", has_text=f"{len(expected)} of").wait_for()
    assert listed(page) == rows_of(page, ".point.in") == expected
    assert page.locator(".lasso").count() == 1
    page.get_by_role("button", name="clear").click()
    page.locator("#how-many", has_not_text="chosen").wait_for()
    assert page.locator(".lasso").count() == 0
    quiet(page, site)


def test_a_loop_with_too_many_corners_is_refused_in_one_line(window: Callable[..., Any], site: Site) -> None:
    page = window()
    page.goto(f"{site.address}/runs/{site.hostile.name}?sel={PLOT}:loop:{','.join(['0'] * 98)}")
    page.locator("#texts .failed").wait_for()
    assert page.locator("#texts .failed").inner_text().startswith("loop has 98 numbers")


def test_points_are_walked_by_arrow_keys_and_opened_by_enter(window: Callable[..., Any], site: Site) -> None:
    page = ready(window(), f"{site.address}/runs/{site.hostile.name}")
    page.locator(f"[data-plot={PLOT}] .point[tabindex='0']").focus()
    for key in ("ArrowRight",) * 4 + ("ArrowLeft",):
        page.keyboard.press(key)
    x, y = numbers(site.hostile)
    row = int(np.lexsort((y, x))[3])
    assert page.evaluate("document.activeElement.dataset.row") == str(row)
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith(f"text {row}: ")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/texts/{row}")
    quiet(page, site)

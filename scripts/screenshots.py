"""Pictures of a run's report and of the explorer, as a person sees them: ``python scripts/screenshots.py RUN OUT_DIR``.

The explorer is that of the folder which holds the run; a translation and a study in it are shown where there are some.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from playwright.sync_api import sync_playwright

from attentest.explorer.serving import served
from attentest.store.folder import find_run

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: How a page is shown: what the name of its picture ends with, the width of the window and its colours.
WINDOWS: Mapping[str, tuple[int, Any]] = {"": (1120, "light"), "-dark": (1120, "dark"), "-phone": (390, "light")}
REPORT, HEIGHT = 900, 760


def shoot(browser: Any, report: Path, target: Path) -> Iterator[Path]:
    """The report in every window."""
    for end, (width, colours) in WINDOWS.items():
        page = browser.new_page(viewport={"width": width, "height": REPORT}, color_scheme=colours)
        page.goto(report.resolve().as_uri())
        page.screenshot(path=target / f"report{end}.png")
        page.close()
        yield target / f"report{end}.png"


def all_judged(address: str) -> dict[str, Any]:
    """What the first page holds, once every verdict was read."""
    while True:
        with urlopen(f"{address}/home.json") as answer:
            home: dict[str, Any] = json.load(answer)
        if not home["judging"]:
            return home
        time.sleep(0.5)


def views(address: str, run: str) -> dict[str, tuple[str, str]]:
    """Name of the picture: the address, and the part of the page that is brought into view."""
    home = all_judged(address)
    translated = next((one["id"] for one in home["runs"] if one["task"] == "translate" and one["texts"]), None)
    found = {
        "home": ("/", "h1"),
        "plots": (f"/runs/{run}?sel=adversary:0.2,0.8,0.2,0.6", "#plots"),
        "text": (f"/runs/{run}/texts/3", "h1"),
        "editor": (f"/runs/{run}/texts/3?w=adversary", "#weights"),
        "claims": ("/claims/jain_wallace_2019?sort=-published&corpus=SST", "h1"),
        "calibration": ("/calibration?test=adversary.ratio", "#roc"),
    }
    if home["studies"]:
        found["grid"] = (f"/studies/{home['studies'][0]['study']}?experiment=permutation", "h1")
    if translated:
        found["matrix"] = (f"/runs/{translated}/texts/3", "h1")
    return found


def explore(browser: Any, runs: Path, run: str, target: Path) -> Iterator[Path]:
    """The explorer's pages in every setting."""
    with served(runs) as address:
        for name, (path, part) in views(address, run).items():
            for end, (width, colours) in WINDOWS.items():
                height = 470 if name == "plots" else HEIGHT
                page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=colours)
                page.goto(address + path)
                page.wait_for_selector("#page:not([aria-busy])", timeout=60_000)
                # Without this a part that lies lower would be scrolled to only as far as its first line.
                page.locator(part).first.evaluate("one => one.scrollIntoView({ block: 'start' })")
                if part == "h1":
                    page.evaluate("() => scrollTo(0, 0)")
                page.wait_for_timeout(300)
                page.screenshot(path=target / f"explore-{name}{end}.png")
                page.close()
                yield target / f"explore-{name}{end}.png"


def main() -> None:
    """Read the two folders from the command line."""
    if len(sys.argv) != 3:
        raise SystemExit("Usage: python scripts/screenshots.py RUN OUT_DIR")
    folder, target = find_run(sys.argv[1], Path("runs")).path, Path(sys.argv[2])
    report = folder / "report.html"
    if not report.is_file():
        raise SystemExit(f"{report} is not there. Run 'attentest audit' to write it.")
    target.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for path in (*shoot(browser, report, target), *explore(browser, folder.parent, folder.name, target)):
            print(path)
        browser.close()


if __name__ == "__main__":
    main()

"""Pictures of a run's report, the explorer and a study of people, as a person sees them.

python scripts/screenshots.py RUN OUT_DIR

The explorer is that of the folder which holds the run; a translation and a study in it are shown where there are some,
and so is an audit of sources in the folder ``sources``.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from playwright.sync_api import sync_playwright

from attentest.explorer.people.server import people_server
from attentest.explorer.people.studies import PeopleStudies
from attentest.explorer.server import explorer
from attentest.explorer.serving import served
from attentest.explorer.sources.audits import SourceAudits
from attentest.people import DESIGNS, Plan, new_study
from attentest.people.simulated import simulate
from attentest.store.folder import RunFolder, find_run

CHROMIUM = "/usr/bin/chromium"
SOURCES = Path("sources")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: How a page is shown: what the name of its picture ends with, the size of the window, its colours; a phone is touched.
WINDOWS: Mapping[str, dict[str, Any]] = {
    "": {"viewport": {"width": 1120, "height": 760}, "color_scheme": "light"},
    "-dark": {"viewport": {"width": 1120, "height": 760}, "color_scheme": "dark"},
    "-phone": {
        "viewport": {"width": 390, "height": 844},
        "color_scheme": "light",
        "has_touch": True,
        "is_mobile": True,
    },
}
#: The height of some pictures on a wide window.
HEIGHTS = {
    "report": 900,
    "explore-home": 1000,
    "explore-plots": 500,
    "explore-grid": 460,
    "explore-sources": 1130,
    "explore-sources-audit": 900,
    "people-consent": 540,
    "people-item": 480,
    "people-compare": 540,
    "people-simulate": 420,
    "people-done": 330,
    "people-study": 1060,
}
#: A loop around some points, as somebody drew it.
LOOP = "adversary:loop:0.34,0.46,0.38,0.36,0.5,0.27,0.68,0.24,0.8,0.33,0.81,0.46,0.7,0.56,0.52,0.58,0.4,0.54"


def opened(browser: Any, name: str, end: str) -> Any:
    """A window for a picture."""
    how = WINDOWS[end]
    size = how["viewport"] | ({"height": HEIGHTS[name]} if name in HEIGHTS and end != "-phone" else {})
    return browser.new_page(**how | {"viewport": size})


def shoot(browser: Any, report: Path, target: Path) -> Iterator[Path]:
    """The report in every window."""
    for end in WINDOWS:
        page = opened(browser, "report", end)
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
        "plots": (f"/runs/{run}?sel={LOOP}", "#plots"),
        "text": (f"/runs/{run}/texts/3", "h1"),
        "editor": (f"/runs/{run}/texts/3?w=adversary", "#weights"),
        "claims": ("/claims/jain_wallace_2019?corpus=SST&status=differs", "h1"),
        "calibration": ("/calibration?test=adversary.ratio", "#roc"),
    }
    if home["studies"]:
        found["grid"] = (f"/studies/{home['studies'][0]['study']}?experiment=permutation", "h1")
    if translated:
        found["matrix"] = (f"/runs/{translated}/texts/3", "h1")
    return found


def of_sources(address: str) -> dict[str, tuple[str, str]]:
    """The newest audit of sources, where there is one: its page, and a question in which attention misleads, or any."""
    audit = next((row["id"] for row in SourceAudits((SOURCES,)).listed() if row["finished"]), None)
    if audit is None:
        return {}
    for asked in ("?missed=attention&size=1", "?status=sources&size=1", "?size=1"):
        with urlopen(f"{address}/sources/{audit}/questions.json{asked}") as answer:
            rows = json.load(answer)["rows"]
        if rows:
            break
    question = f"/sources/{audit}/questions/{rows[0]['row']}"
    return {"sources": (question, "h1"), "sources-audit": (f"/sources/{audit}", "h1")}


def explore(browser: Any, runs: Path, run: str, target: Path) -> Iterator[Path]:
    """The explorer's pages in every setting."""
    with served(explorer(runs, sources=SOURCES)) as address:
        found = {f"explore-{name}": about for name, about in (views(address, run) | of_sources(address)).items()}
        yield from pictures(browser, address, found, target)


def ask(browser: Any, run: RunFolder, target: Path) -> Iterator[Path]:
    """What annotators of a run's explanations see, and whoever asks them; results are those of simulated annotators."""
    with tempfile.TemporaryDirectory() as folder:
        people = Path(folder)
        pages = {
            "item": asked(people, run, "meaningful", 11),
            "compare": asked(people, run, "compare", 11),
            "simulate": asked(people, run, "simulate", 11),
            "done": asked(people, run, "detect", 100),
            "study": "/people/films",
        }
        with new_study(people, "films", (run,), DESIGNS.parse("meaningful"), Plan(items=100)) as study:
            pages["consent"] = f"/people/films/{study.invite('anna')}"
            simulate(study, 3, 0.1, 0)
        with served(people_server(PeopleStudies(people))) as address:
            yield from pictures(browser, address, {f"people-{name}": (at, "h1") for name, at in pages.items()}, target)


def asked(people: Path, run: RunFolder, design: str, least: int) -> str:
    """The address of somebody who answered so many items of a study, and then as far as one that is no check."""
    with new_study(people, f"the-{design}-study", (run,), DESIGNS.parse(design), Plan(items=50, seed=3)) as study:
        link = study.invite("anna")
        anna = study.annotator(link)
        study.consent(anna, study.documents().version)
        for number, item in enumerate(study.assigned(anna)):
            if number >= least and item.hidden.kind == "item":
                break
            study.answer(anna, item.id, item.shown.choices[0].value, f"nonce-{item.id}", 6.0)
        return f"/people/{study.name}/{link}"


def pictures(browser: Any, address: str, pages: Mapping[str, tuple[str, str]], target: Path) -> Iterator[Path]:
    """Pages in every window, each with one of its parts in view."""
    for name, (path, part) in pages.items():
        for end in WINDOWS:
            page = opened(browser, name, end)
            page.goto(address + path)
            page.wait_for_selector("#page:not([aria-busy])", timeout=60_000)
            page.wait_for_load_state("networkidle")
            # Without this a part that lies lower would be scrolled to only as far as its first line.
            page.locator(part).first.evaluate("one => { one.scrollIntoView({ block: 'start' }); scrollBy(0, -14); }")
            if part == "h1":
                page.evaluate("() => scrollTo(0, 0)")
            page.wait_for_timeout(300)
            file = target / f"{name}{end}.png"
            page.screenshot(path=file)
            page.close()
            yield file


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
        made = (shoot(browser, report, target), explore(browser, folder.parent, folder.name, target))
        for path in chain(*made, ask(browser, RunFolder(folder), target)):
            print(path)
        browser.close()


if __name__ == "__main__":
    main()

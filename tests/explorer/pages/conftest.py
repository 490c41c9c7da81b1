"""A browser, and windows that write down what a page asks for and complains of."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.explorer.sources.made_up_audit import write_audit
from tests.report.made_up import HOSTILE, write_run

import attentest
import attentest.explorer
from attentest.explorer.server import explorer
from attentest.explorer.serving import served

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
STATIC = Path(attentest.explorer.__file__).parent / "static"
KINDS = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
#: A page of nothing but our modules, at an address that is nowhere.
ALONE = "http://modules.test"
BLANK = (
    "<!doctype html><html lang='en'><meta charset='utf-8'><title>modules</title>"
    "<link rel='stylesheet' href='/static/explorer.css'><main id='page'></main></html>"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not CHROMIUM.exists():
        pytest.skip("Chromium is not installed at /usr/bin/chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield opened
        opened.close()


@pytest.fixture
def window(browser: Any) -> Iterator[Callable[..., Any]]:
    """Open a window of its own: wide or narrow, light or dark."""
    opened = []

    def open_one(width: int = 1280, colours: Any = "light") -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=colours)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.complaints, page.requests = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("dialog", lambda dialog: page.complaints.append(dialog.message))
        page.on("request", lambda request: page.requests.append(request.url))
        opened.append(context)
        return page

    yield open_one
    for context in opened:
        context.close()


@pytest.fixture
def modules(window: Callable[..., Any]) -> Callable[..., Any]:
    """A window with our modules and nothing else."""

    def answer(route: Any) -> None:
        path = route.request.url.removeprefix(ALONE).partition("?")[0]
        if path.startswith("/static/"):
            file = STATIC / path.removeprefix("/static/")
            route.fulfill(body=file.read_text("utf-8"), content_type=KINDS[file.suffix])
        else:
            route.fulfill(body=BLANK, content_type="text/html")

    def open_one(**how: Any) -> Any:
        page = window(**how)
        page.route(f"{ALONE}/**", answer)
        page.goto(f"{ALONE}/")
        return page

    return open_one


@dataclass(frozen=True)
class Site:
    """An explorer that is being served, and the runs behind it."""

    address: str
    runs: Path
    #: A run with its model, of texts some of which would do harm, were they markup; another of the same corpus.
    real: Path
    other: Path
    #: A run whose classes and corpus would, too.
    hostile: Path
    #: An audit of sources, whose question 2 would, and one whose scores are those of words.
    cited: str
    words: str

    def text(self, run: Path, row: int = 0) -> str:
        return f"{self.address}/runs/{run.name}/texts/{row}"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    root = tmp_path_factory.mktemp("explored")
    data = root / "texts.csv"
    harm = [*(token for token in HOSTILE if token.strip() and "\x00" not in token), "x" * 5_000, "مرحبا بالعالم"]
    with data.open("w", newline="", encoding="utf-8") as handle:
        writer = csv.writer(handle)
        writer.writerow(["text", "label"])
        for i in range(60):
            word = harm[i // 4 % len(harm)] if i % 4 == 3 else f"w{i % 7}"
            writer.writerow(
                [f"{word} w{i % 5} it was {'good' if i % 2 else 'bad'} w{i % 3}", "fine" if i % 2 else "poor"]
            )
    runs = root / "runs"
    small = {"embedding": 8, "epochs": 2, "tokenizer": "whitespace", "data": data, "runs": runs}
    asked = ("uniform", "permutation", "agreement", "adversary(steps=10)", "flip_sets")
    real = attentest.audit(encoder="bilstm(hidden=6)", challenges=asked, **small).folder.path
    other = attentest.audit(encoder="average(hidden=6)", challenges=("uniform",), **small).folder.path
    classes = ("<script>document.title='owned'</script>", "po\u202esi\x00tive [bold]")
    hostile = write_run(runs / "hostile", 40, classes, name='"><img src=x onerror=alert(3)> [red]', hostile=True).path
    (runs / "studies").mkdir()
    cells = [
        {"label": name, "choices": {"corpus": "texts", "encoder": name, "seed": 0}, "run": run, "problem": None}
        for name, run in (("bilstm", real.name), ("average", other.name), ("<b>none</b>", None))
    ]
    about = {"study": "small", "title": "A <i>small</i> study", "paper": None, "cells": cells}
    (runs / "studies" / "small-0.json").write_text(json.dumps(about))
    sources = root / "sources"
    cited, words = write_audit(sources).name, write_audit(sources, "words0000000", 3, words=True).name
    with served(explorer(runs, sources=sources)) as address:
        yield Site(address, runs, real, other, hostile, cited, words)


def ready(page: Any, address: str) -> Any:
    """Open an address and wait until its page is drawn."""
    page.goto(address)
    page.wait_for_selector("#page:not([aria-busy])")
    assert page.locator(".failed").count() == 0, page.locator(".failed").first.inner_text()
    return page


def quiet(page: Any, site: Site) -> None:
    """Nothing complained, nothing was asked of anyone else."""
    assert page.complaints == []
    assert [url for url in page.requests if not url.startswith((site.address, "data:"))] == []

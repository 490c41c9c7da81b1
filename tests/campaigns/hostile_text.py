"""Hostile text: words, classes and names that would run or break a page.

They stand in reports, explanations, the explorer and the pages of annotators and of whoever asks them.
"""

from __future__ import annotations

import base64
import contextlib
from html.parser import HTMLParser
from pathlib import Path
from random import Random
from typing import Any

import torch
from starlette.testclient import TestClient

import attentest
from attentest.explorer.people.server import people_server
from attentest.explorer.people.studies import PeopleStudies
from attentest.explorer.server import explorer
from attentest.explorer.serving import served
from attentest.people import DESIGNS, PeopleStudy, Plan, new_study
from attentest.report.pages.run import write_report
from attentest.report.verdict.judge import judge
from attentest.runs.execute import execute
from attentest.store.folder import REPORT, RunFolder
from tests.campaigns.campaign import Campaign, Fault
from tests.report import made_up
from tests.runs.test_run import small

CHROMIUM = Path("/usr/bin/chromium")
#: Of so many cases one is looked at in a browser.
LOOKED_AT = 25
PIECES = (
    *("<script>", "</script>", "<img src=x onerror=", "alert(1)", "'", '"', ">", "<", "</style>", "-->", "<!--", "]]>"),
    *(
        "<style>*{display:none}",
        "javascript:",
        "data:text/html,",
        "<svg/onload=",
        "<a href=",
        "&#x3c;script&#x3e;",
        "&lt;",
    ),
    *("\\x3cscript\\x3e", "{{7*7}}", "{% raw %}", "${7*7}", "#{1}", "<iframe srcdoc=", "<base href=//x>", "</title>"),
    *(
        "<meta http-equiv=refresh content=0>",
        "</svg>",
        "<math><mtext></table>",
        "expression(",
        "url(//x)",
        "position:fixed",
    ),
    *("\u202e", "\u2066", "\u200b", "\x00", "\x1b[2J", "\ufeff", "\t", "\n", "\r\n", "\u2028", "=cmd|' /C calc'!A0"),
    *("x" * 400, "W" * 60, "界" * 80, "a\u0301" * 40, "\u0f3a" * 20, "é", "שלום"),
)
FIGURE = "img data:image/svg+xml;base64,"


def evil(draw: Random) -> str:
    """A word that somebody might have put there."""
    return "".join(draw.choice(PIECES) for _ in range(draw.randrange(1, 5))) or "<"


#: Tags that no figure needs.
RUNS = ("script", "foreignobject", "iframe", "a", "image", "use", "animate", "set")


class Tags(HTMLParser):
    """The tags of a page, with their attributes, and addresses that lead somewhere."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[tuple[str, str]] = set()
        self.addresses: set[str] = set()
        self.figures: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add((tag, ""))
        for name, value in attrs:
            self.found.add((tag, name))
            address = f"{tag} {value}"
            if address.startswith(FIGURE):
                self.figures.append(base64.b64decode(address.removeprefix(FIGURE)).decode())
            elif name in ("href", "src", "action", "srcdoc", "xlink:href") and not (value or "").startswith("#"):
                self.addresses.add(address)


class HostileText(Campaign):
    """A run made up of hostile words, shown everywhere."""

    name = "hostile-text"
    promise = "no word becomes a tag, an attribute or an address; nothing runs; the page keeps its width"
    quick, full = 6, 250

    def __init__(self) -> None:
        self.looked = 0
        self.link = ""
        self.browser: Any = None
        self.ended = contextlib.ExitStack()

    def prepare(self, folder: Path) -> None:
        torch.set_num_threads(1)
        self.trained = execute(small(), folder / "runs").path
        self.tame = {
            place: self._tags(pages)
            for place, pages in self._shown(folder / "tame", ("first", "second"), "tame", ("plain",) * 10).items()
        }
        if CHROMIUM.exists():
            with contextlib.suppress(ImportError):
                from playwright.sync_api import sync_playwright

                play = self.ended.enter_context(sync_playwright())
                self.browser = play.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
                self.ended.callback(self.browser.close)

    def close(self) -> None:
        self.ended.close()

    def case(self, draw: Random, number: int, folder: Path) -> str:
        words = tuple(evil(draw) for _ in range(10))
        shown = self._shown(folder, (evil(draw), f"{evil(draw)}2"), evil(draw), words)
        for place, pages in shown.items():
            known, found = self.tame[place], self._tags(pages)
            if strange := found.found - known.found:
                raise Fault(f"{place}: {sorted(strange)[:5]} of {words!r}")
            if strange_addresses := found.addresses - known.addresses:
                raise Fault(f"{place}: leads to {sorted(strange_addresses)[:3]}")
        drawn = [Tags(figure) for figure in self._tags(shown["report"]).figures]
        if bad := {tag for one in drawn for tag in one.found if tag[0] in RUNS or tag[1].startswith("on")}:
            raise Fault(f"a figure holds {sorted(bad)}")
        if self.browser is not None and number % LOOKED_AT == 0:
            self._look((folder / "made" / REPORT).as_uri(), "file:")
            with served(explorer(folder, judging=False, people=folder / "people")) as at:
                for path in ("/", "/runs/made", "/runs/made/texts", "/runs/made/texts/0", "/people/asked"):
                    self._look(at + path, at)
                self._look(f"{at}/people/asked/{self.link}", at)
            return "in a browser"
        return "by its tags"

    def _shown(self, folder: Path, classes: tuple[str, str], name: str, words: tuple[str, ...]) -> dict[str, list[str]]:
        """Every page on which the words stand."""
        kept, made_up.HOSTILE = made_up.HOSTILE, words
        try:
            without = [one for one in made_up.MEASURES if one not in ("instances", "permutation")]
            run = made_up.write_run(folder / "made", 12, classes, name=name, hostile=True, without=without)
        finally:
            made_up.HOSTILE = kept
        write_report(run, judge(run), run.path / REPORT)
        pages = {"report": [(run.path / REPORT).read_text("utf-8")]}
        text = " ".join(word for word in words if word.strip()) or "plain"
        pages["explanation"] = [attentest.explain(text, self.trained, tokenizer="whitespace").to_html()]
        with TestClient(explorer(folder, judging=False), base_url="http://127.0.0.1:8474") as client:
            answers = [client.get(path) for path in ("/", "/runs/made", "/runs/made/texts", "/runs/made/texts/0")]
            for answer in answers:
                if "script-src 'self'" not in answer.headers["content-security-policy"]:
                    raise Fault(f"{answer.url}: {answer.headers['content-security-policy']}")
            pages["explorer"] = [answer.text for answer in answers]
            for path in ("/home.json", "/runs/made.json", "/runs/made/texts.json", "/runs/made/texts/0.json"):
                answer = client.get(path)
                if answer.status_code != 200 or not answer.headers["content-type"].startswith("application/json"):
                    raise Fault(f"{path}: {answer.status_code}, {answer.text[:300]}")
                answer.json()
        pages["people"] = self._asked(folder, run, evil_name=name)
        return pages

    def _asked(self, folder: Path, run: RunFolder, evil_name: str) -> list[str]:
        """The pages of an annotator who may begin, and of whoever asks."""
        plan = Plan(items=4, checks=0, gold=0)
        made = new_study(folder / "people", "asked", (run,), DESIGNS.parse("meaningful"), plan).path
        with PeopleStudy(made) as study:
            study.invite(plain(evil_name))
            self.link = study.invite("anna")
            study.consent(study.annotator(self.link), study.documents().version)
        link = f"/people/asked/{self.link}"
        server = people_server(PeopleStudies(made.parent))
        with TestClient(server, base_url="http://127.0.0.1:8474") as client:
            for path in (f"{link}.json", "/people.json", "/people/asked.json"):
                answer = client.get(path)
                if answer.status_code != 200 or not answer.headers["content-type"].startswith("application/json"):
                    raise Fault(f"{path}: {answer.status_code}, {answer.text[:300]}")
                answer.json()
            answers = [client.get(path) for path in (link, "/people", "/people/asked")]
            for answer in answers:
                if "script-src 'self'" not in answer.headers["content-security-policy"]:
                    raise Fault(f"{answer.url}: {answer.headers['content-security-policy']}")
            return [answer.text.replace(self.link, "LINK") for answer in answers]

    def _tags(self, pages: list[str]) -> Tags:
        return Tags("\n".join(pages))

    def _look(self, page: str, from_there: str) -> None:
        """Nothing runs or is fetched from elsewhere, and the page is as wide as its window."""
        seen: list[str] = []
        for width in (1200, 390):
            view = self.browser.new_page(viewport={"width": width, "height": 900})
            view.on("dialog", lambda dialog: (seen.append(dialog.message), dialog.dismiss()))
            view.on("request", lambda request: seen.append(request.url))
            view.on("pageerror", lambda error: seen.append(str(error)))
            there = view.goto(page, wait_until="networkidle")
            if there.status not in (0, 200):
                raise Fault(f"{page}: status {there.status}")
            if strange := [one for one in seen if not one.startswith((from_there, "data:", "blob:"))]:
                raise Fault(f"{page}: it ran or fetched something: {strange[:3]}")
            room = view.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
            if room[0] > room[1] + 1:
                raise Fault(f"{page} is {room[0]} wide in a window of {room[1]}")
            view.close()
            self.looked += 1

    def notes(self) -> list[str]:
        return [f"{self.looked} windows looked at in Chromium, 1200 and 390 px wide"]


def plain(name: str) -> str:
    """As much of a name as an annotator may have."""
    return "".join(sign for sign in name if sign.isprintable()).strip()[:60] or "somebody"

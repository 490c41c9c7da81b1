"""Three annotators at once; one loses the connection, goes back and answers again; the server is killed in the middle.

What every page said was saved is written down as it is said, and compared with the file of answers: after every kill
all of it is there, and in the end there is nothing else, and nothing twice.
"""

from __future__ import annotations

import contextlib
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.explorer.pages.conftest import ready
from tests.people.made_up_runs import write_planted_run
from tests.people.serving import Served

from attentest.people import DESIGNS, PeopleStudy, Plan, new_study

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PEOPLE = ("anna", "ben", "cleo")
#: Writes down every acknowledgement as the page shows it.
WATCH = """() => {
  window.saved = [];
  const line = document.getElementById("sent");
  const look = () => {
    const { kind, item, choice, nonce } = line.dataset;
    if (nonce && nonce !== window.saved.at(-1)?.[3]) window.saved.push([kind, item, choice, nonce]);
  };
  new MutationObserver(look).observe(line, { attributes: true });
}"""
SHOWN = "() => new URLSearchParams(location.search).get('item')"
DONE = "() => document.querySelector('#work h1').innerText === 'All done'"


class Room:
    """Three people before the same study, each with a browser of their own."""

    def __init__(self, study: PeopleStudy, server: Served, window: Callable[..., Any]) -> None:
        self.study, self.server, self.draw = study, server, random.Random(0)
        self.pages = {name: window() for name in PEOPLE}
        for name, page in self.pages.items():
            page.set_default_timeout(60_000)
            ready(page, f"{server.address}/people/{study.name}/{study.invite(name)}")
            page.evaluate(WATCH)
            page.get_by_role("button", name="I have read this").click()
            page.get_by_role("button", name="Begin").click()
            page.wait_for_selector(".choice")

    def answer(self) -> None:
        """Each answers what they see, without waiting for the others."""
        time.sleep(0.3)
        for page in self.pages.values():
            page.keyboard.press(self.draw.choice("yn"))

    def wait(self, state: str = "saved") -> None:
        for page in self.pages.values():
            page.wait_for_selector(f"#sent[data-state={state}]")

    def done(self) -> bool:
        return all(page.evaluate(DONE) for page in self.pages.values())

    def saved(self, name: str) -> list[tuple[str, str | None, str]]:
        """What somebody's page said was saved, in order."""
        said = self.pages[name].evaluate("() => window.saved")
        return [(item, choice or None, nonce) for _, item, choice, nonce in said]

    def on_disk(self, name: str) -> list[tuple[str, str | None, str]]:
        """All that is stored of somebody, in order, read from the file itself."""
        query = (
            "SELECT item, choice, nonce FROM events JOIN annotators ON number = annotator WHERE name = ? ORDER BY id"
        )
        with contextlib.closing(sqlite3.connect(self.study.path / "answers.sqlite")) as db:
            return db.execute(query, (name,)).fetchall()

    def nothing_is_lost(self) -> int:
        """Every answer that a page said was saved is there, once; how many there are."""
        total = 0
        for name in self.pages:
            said, stored = self.saved(name), Counter(self.on_disk(name))
            assert all(stored[each] == 1 for each in said), name
            total += len(said)
        return total


@pytest.fixture
def room(window: Callable[..., Any], tmp_path: Path) -> Iterator[Room]:
    run = write_planted_run(tmp_path / "runs" / "planted-1")
    plan = Plan(items=12, checks=2, gold=0)
    with (
        new_study(tmp_path / "people", "films", (run,), DESIGNS.parse("meaningful"), plan) as study,
        Served(tmp_path / "people") as server,
    ):
        yield Room(study, server, window)


def lose_the_connection(room: Room) -> None:
    """Ben answers without a connection, goes back, changes an earlier answer, and is connected again."""
    ben = room.pages["ben"]
    ben.context.set_offline(True)
    room.answer()
    ben.wait_for_selector("#sent[data-state=waiting]")
    behind = ben.evaluate(SHOWN)
    ben.go_back()
    earlier = ben.evaluate(SHOWN)
    assert earlier != behind
    was = ben.locator(".choice[aria-pressed=true]").get_attribute("data-choice")
    other = {"yes": "no", "no": "yes"}[was]
    time.sleep(0.3)
    ben.keyboard.press(other[0])
    assert "Not saved yet" in ben.locator("#sent").inner_text()
    assert room.nothing_is_lost() >= 9
    ben.context.set_offline(False)
    room.wait()
    kept = {item: choice for item, choice, _ in room.saved("ben")}
    assert kept[earlier] == other
    assert behind in kept


def kill(room: Room, wait: float) -> None:
    """The server dies while three answers are on their way; all are asked again, and it comes back."""
    room.answer()
    time.sleep(wait)
    room.server.kill()
    before = room.nothing_is_lost()
    room.answer()  # nobody is there to take it
    room.wait("waiting")
    room.server.start()
    for page in room.pages.values():
        page.evaluate("() => dispatchEvent(new Event('online'))")  # rather than wait for the next try
    room.wait()
    assert room.nothing_is_lost() > before


def test_no_saved_answer_is_lost_and_none_counts_twice(room: Room) -> None:
    for _ in range(3):
        room.answer()
        room.wait()
    lose_the_connection(room)
    for wait in (0.0, 0.004, 0.02):
        kill(room, wait)
    for _ in range(2 * len(room.study.items)):
        if room.done():
            break
        room.answer()
        room.wait()
    for name in PEOPLE:
        said, stored = room.saved(name), room.on_disk(name)
        assert said == stored
        assert len({nonce for *_, nonce in stored}) == len(stored)
        given = room.study.given(room.study.store.named(name))
        assert {item: event.choice for item, event in given.items()} == {item: choice for item, choice, _ in said}
        assert given.keys() == room.study.items.keys()

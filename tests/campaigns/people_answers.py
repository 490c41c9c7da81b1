"""Answers: people answer, change their minds and take answers back while the server is killed again and again."""

from __future__ import annotations

import asyncio
import importlib
import shutil
import signal
import socket
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx
import numpy as np

from attentest.people import DESIGNS, PeopleStudy, Plan, new_study
from tests.campaigns.campaign import Campaign, Fault
from tests.campaigns.processes import Started, started
from tests.people.made_up_runs import write_planted_run

#: Who answer at once, how much each does, and how often the server is killed meanwhile.
PEOPLE, DEEDS, KILLS = ("anna", "ben", "cleo"), 25, 4
#: Seconds after its start within which a server is killed, and that anything may take.
SOON, LONGEST = 0.4, 120.0
#: Of so many deeds one is an undo, one is sent by somebody who hangs up, and one is sent twice.
UNDOING, HANGING_UP, TWICE = 6, 8, 5


@dataclass
class Person:
    """Somebody with a link, and what they were told is saved."""

    name: str
    link: str
    draw: Random
    acknowledged: list[dict[str, Any]] = field(default_factory=list)

    async def answers(self, at: str, items: list[str], seconds: list[float]) -> None:
        """Every deed is sent with its nonce until it is acknowledged, as the page does."""
        async with httpx.AsyncClient(base_url=f"{at}/people/films/{self.link}", verify=False) as client:
            for number in range(DEEDS):
                undo = number > 0 and not self.draw.randrange(UNDOING)
                deed = {"nonce": f"{self.name}-{number:06d}"}
                if not undo:
                    deed |= {"item": self.draw.choice(items), "choice": self.draw.choice(("yes", "no"))}
                await self.send(client, f"/{'undo' if undo else 'answer'}.json", deed, seconds)
                self.acknowledged.append(deed)

    async def send(self, client: httpx.AsyncClient, path: str, deed: dict[str, Any], seconds: list[float]) -> None:
        loop = asyncio.get_running_loop()
        hangs_up, left = not self.draw.randrange(HANGING_UP), 1 + (not self.draw.randrange(TWICE))
        until = loop.time() + LONGEST
        while loop.time() < until:
            begun = loop.time()
            try:
                said = await client.post(path, json=deed, timeout=0.003 if hangs_up else 10)
            except httpx.TransportError:
                hangs_up = False
                await asyncio.sleep(0.02)
                continue
            if said.status_code == 200:
                seconds.append(loop.time() - begun)
                left -= 1
                if not left:
                    return
            elif said.status_code in (429, 503):
                await asyncio.sleep(0.1)
            else:
                raise Fault(f"{self.name}: {said.status_code} {said.text[:200]} for {deed}")
        raise Fault(f"{self.name}: no answer within {LONGEST:.0f} s")

    def counts(self) -> dict[str, str]:
        """What should count in the end, by the deeds alone."""
        given: dict[str, str] = {}
        for deed in self.acknowledged:
            if "item" in deed:
                given.pop(deed["item"], None)
                given[deed["item"]] = deed["choice"]
            elif given:
                given.popitem()
        return given


class Answers(Campaign):
    """Each case is a study, three people, and a server that is killed while they answer."""

    name = "answers"
    promise = "no answer of people that was acknowledged is lost, and none counts twice"
    quick, full = 2, 60

    def __init__(self) -> None:
        self.told: Counter[str] = Counter()
        self.seconds: list[float] = []

    def prepare(self, folder: Path) -> None:
        for module in ("attentest.explorer.people.server", "uvicorn.protocols.http.auto", "uvicorn.loops.auto"):
            importlib.import_module(module)  # loaded once, here, and inherited
        run = write_planted_run(folder / "runs" / "planted-1", 60)
        plan = Plan(items=10, checks=0, gold=0)
        self.study = new_study(folder, "films", (run,), DESIGNS.parse("meaningful"), plan).path

    def case(self, draw: Random, number: int, folder: Path) -> str:
        place = shutil.copytree(self.study, folder / "people" / "films")
        with PeopleStudy(place) as study:
            people = [Person(name, study.invite(name), Random(draw.random())) for name in PEOPLE]
            for each in people:
                study.consent(study.annotator(each.link), study.documents().version)
            items = sorted(study.items)
        kills = asyncio.run(self._asked(draw, folder, people, items))
        with PeopleStudy(place) as study:
            for each in people:
                _compare(study, each)
                self.told["answers and undos"] += len(each.acknowledged)
        self.told["kills"] += kills
        return f"{kills} kills"

    async def _asked(self, draw: Random, folder: Path, people: list[Person], items: list[str]) -> int:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        at = f"http://127.0.0.1:{port}"
        server, kills = await _served(folder, port), 0
        work = asyncio.gather(*(each.answers(at, items, self.seconds) for each in people))
        try:
            for _ in range(KILLS):
                done, _ = await asyncio.wait([work], timeout=draw.uniform(0, SOON))
                if done:
                    break
                server.signal(signal.SIGKILL)
                server.ended(LONGEST)
                kills += 1
                server = await _served(folder, port)
            await work
        finally:
            work.cancel()
            server.signal(signal.SIGKILL)
            server.ended(LONGEST)
        return kills

    def notes(self) -> list[str]:
        if not self.seconds:
            return []
        told = ", ".join(f"{count:,} {what}" for what, count in self.told.items())
        return [f"{told}; an acknowledgement took {1000 * np.median(self.seconds):.0f} ms (median)"]


async def _served(folder: Path, port: int) -> Started:
    """A server that answers."""
    server = started(["people", "serve", "--people", "people", "--port", str(port)], folder)
    until = asyncio.get_running_loop().time() + LONGEST
    async with httpx.AsyncClient(verify=False) as client:
        while asyncio.get_running_loop().time() < until:
            try:
                await client.get(f"http://127.0.0.1:{port}/static/base.js")
            except httpx.TransportError:
                await asyncio.sleep(0.01)
            else:
                return server
    server.signal(signal.SIGKILL)
    raise Fault(f"the server does not start: {server.ended(LONGEST).err[-600:]}")


def _compare(study: PeopleStudy, person: Person) -> None:
    """What is stored is what was acknowledged: all of it, in order, once; and what counts follows from it."""
    who = study.store.named(person.name)
    given = {item: event.choice for item, event in study.given(who).items()}
    if given != person.counts():
        raise Fault(f"{person.name}: {given} counts, and {person.counts()} was told to be saved")
    stored = [(event.item, event.choice) for event in study.store.history(who) if event.choice is not None]
    told = [(deed["item"], deed["choice"]) for deed in person.acknowledged if "item" in deed]
    if stored != told:
        raise Fault(f"{person.name}: {len(stored)} answers are stored, and {len(told)} were told to be saved")

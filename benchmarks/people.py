"""Many annotators at once.

python -m benchmarks.people [--annotators 50] [--items 40] [--pause 0 1]

A server of its own serves a study of made-up texts. Every annotator has a connection of their own, agrees, and answers
all items, each when the one before is acknowledged and a pause is over (0: nobody reads, everybody presses at once).
What was acknowledged is then compared with what the file of answers holds.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

import httpx
import numpy as np
from rich.console import Console

from attentest.people import Choice, Documents, Item, Panel, PeopleStudy, Shown
from attentest.people.item import Hidden
from benchmarks import ended
from benchmarks.explorer import memory, served, worked

CHOICES = (Choice("yes", "yes", "y"), Choice("no", "no", "n"))
WORDS = 120


def made(path: Path, items: int) -> PeopleStudy:
    """A study of texts of so many words."""
    drawn = random.Random(0)

    def item(number: int) -> Item:
        tokens = tuple(f"word{drawn.randrange(5000)}" for _ in range(WORDS))
        shown = Shown(
            (Panel(tokens, (1, 5, 9)),), "Are the marked words relevant for this answer?", CHOICES, "positive"
        )
        return Item(f"item-{number:05d}", shown, Hidden("original", f"text-{number}"))

    record = {
        "design": "meaningful",
        "seed": 0,
        "runs": [],
        "counts": {"item": items},
        "conditions": {"original": items},
    }
    return PeopleStudy.create(path, record, [item(number) for number in range(items)], Documents("Agree?", "Answer."))


async def annotator(address: str, version: str, pause: float, seed: int, taken: list[float]) -> list[tuple[str, str]]:
    """One annotator: what was acknowledged, by nonce and choice."""
    drawn, told = random.Random(seed), []
    async with httpx.AsyncClient(base_url=address, timeout=120, verify=False) as client:
        far = (await client.post("/consent.json", json={"version": version})).raise_for_status().json()
        while not far["finished"]:
            await asyncio.sleep(drawn.uniform(0, 2 * pause))
            nonce, choice = f"{seed:04d}-{len(told):06d}", drawn.choice(("yes", "no"))
            sent = {"item": far["item"]["id"], "choice": choice, "nonce": nonce, "seconds": pause}
            now = time.perf_counter()
            answer = await client.post("/answer.json", json=sent)
            while answer.status_code == 429:
                await asyncio.sleep(0.1)
                answer = await client.post("/answer.json", json=sent)
            far = answer.raise_for_status().json()
            taken.append(time.perf_counter() - now)
            told.append((nonce, choice))
    return told


async def crowd(at: str, links: list[str], version: str, pause: float, taken: list[float]) -> list[tuple[str, str]]:
    """All of them at once."""
    asked = (annotator(f"{at}/people/films/{link}", version, pause, seed, taken) for seed, link in enumerate(links))
    return [each for told in await asyncio.gather(*asked) for each in told]


def main() -> None:
    """Print how long acknowledgements took, and what is stored."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--annotators", type=int, default=50)
    parser.add_argument("--items", type=int, default=40)
    parser.add_argument("--pause", type=float, nargs="+", default=[0.0, 1.0])
    chosen, console = parser.parse_args(), Console()
    for pause in chosen.pause:
        with tempfile.TemporaryDirectory() as folder:
            study = made(Path(folder) / "films", chosen.items)
            links = [study.invite(f"annotator-{number}") for number in range(chosen.annotators)]
            taken: list[float] = []
            with served("people", "serve", "--people", folder) as (address, process):
                before, begun = worked(process), time.perf_counter()
                told = asyncio.run(crowd(address, links, study.documents().version, pause, taken))
                wall, most = time.perf_counter() - begun, memory(process)[1]
                each = 1000 * (worked(process) - before) / len(told)
            study.close()
            with closing(sqlite3.connect(Path(folder) / "films" / "answers.sqlite")) as db:
                stored = db.execute("SELECT nonce, choice FROM events").fetchall()
            lost, more = set(told) - set(stored), len(stored) - len(set(told))
            middle, late, latest = 1000 * np.percentile(taken, [50, 95, 100])
            console.print(
                f"{chosen.annotators} annotators at once, {pause:g} s between answers: {len(told):,} answers in "
                f"{wall:.1f} s, median {middle:.0f} ms, p95 {late:.0f} ms, latest {latest:.0f} ms; {len(lost)} lost, "
                f"{more} too many; {each:.1f} ms of the server's CPU an answer; most held {most} MiB"
            )


if __name__ == "__main__":
    ended(main)

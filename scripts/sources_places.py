"""What other weights do at every place of SmolLM2: from scripts/sources_weights.py's lines to a table of the page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scripts.sources_files import heading, printed, read

from attentest.sources.judging.alternatives import FAR, Alternatives
from attentest.statistics.bootstrap import bootstrap_mean
from attentest.statistics.intervals import Interval, wilson

#: ``farthest``: how far the farthest weights lie that were tried and leave the answer as it is; ``first``: the source
#: whose cut hurts most.
PLACES = ("id", "place", "uniform", "permuted", "farthest", "first")
DO, DECIDE, UNSETTLED = "other weights do", "its weights decide", "unsettled"


def collected_places(work: Path) -> list[dict[str, Any]]:
    """A row for every question that was asked at every place."""
    lines = [json.loads(line) for line in (work / "weights.jsonl").read_text("utf-8").splitlines()]
    whole = max(sum(line["id"] == each for line in lines) for each in {line["id"] for line in lines})
    rows = []
    for line in lines:
        about = {key: value for key, value in line.items() if key not in ("id", "place", "cut")}
        found = Alternatives(**about)
        row = {
            **{"id": line["id"], "place": line["place"], "uniform": f"{found.uniform:.3f}"},
            **{"permuted": f"{np.mean(found.permuted):.3f}", "farthest": f"{found.farthest():.3f}"},
            "first": int(np.argmax(line["cut"])),
        }
        if sum(each["id"] == line["id"] for each in lines) == whole:
            rows.append(row)
    return rows


def ruled(stays: Interval) -> str:
    """The rule on the page: by how many answers stay under far weights."""
    return DO if stays.low > 0.5 else DECIDE if stays.high < 0.5 else UNSETTLED


def stays_at(folder: Path, model: str = "smollm2, value") -> dict[str, tuple[Interval, list[dict[str, str]]]]:
    """At every place, how often far weights leave the answer as it is, with the rows; answers that hang on sources."""
    about = {row["id"]: row for row in read(folder, "questions.csv") if row["model"] == model}
    rows = [row | about[row["id"]] for row in read(folder, "weights.csv") if about[row["id"]]["status"] == "sources"]
    found = {}
    for place in dict.fromkeys(row["place"] for row in rows):
        own = [row for row in rows if row["place"] == place]
        found[place] = wilson(sum(float(row["farthest"]) >= FAR for row in own), len(own)), own
    return found


def places_table(folder: Path) -> Iterator[str]:
    """A line for every place."""
    yield from heading(
        *("place", "answers", "fall under even weights, nats", "permuted, nats", "far weights leave it, %"),
        *("cutting finds the deciding source, %", "what follows"),
    )
    for place, (stays, rows) in stays_at(folder).items():
        hits = sum(row["first"] in row["deciding"].split() for row in rows)
        cells = (
            *(str(len(rows)), printed(bootstrap_mean([float(row["uniform"]) for row in rows]))),
            *(printed(bootstrap_mean([float(row["permuted"]) for row in rows])), printed(stays, percent=True)),
            *(printed(wilson(hits, len(rows)), percent=True), ruled(stays)),
        )
        yield f"| {place} | " + " | ".join(cells) + " |"

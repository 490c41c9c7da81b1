"""The page of an audit of sources: one HTML file that needs no network and runs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from attentest import __version__
from attentest.registry import name_in_words
from attentest.report.pages.html import environment
from attentest.sources.auditing import SourcesAudit
from attentest.sources.judging.record import Record
from attentest.sources.showing.words import STATUS, between, came_from, headline, named, of_layers, of_others
from attentest.store.atomic import write_text
from attentest.store.folder import REPORT, RunFolder

__all__ = ["page", "write_page"]

#: So many questions are shown, each with every method.
SHOWN = 10


def write_page(found: SourcesAudit) -> Path:
    """Write the page into the audit's folder, whole or not at all."""
    target = found.folder / REPORT
    write_text(target, page(found))
    RunFolder(found.folder).finish(REPORT)
    return target


def page(found: SourcesAudit) -> str:
    """The page as text."""
    return (
        environment(between=between, named=named, number=_number)
        .get_template("attentest.sources.showing/page.html")
        .render(
            found=found,
            headline=headline(found),
            came_from=came_from(found),
            layers=of_layers(found),
            others=of_others(found),
            planted=any(ruling.judged.counts[2] for ruling in found.rulings),
            injected=any(ruling.judged.counts[3] for ruling in found.rulings),
            examples=[_example(record) for record in _examples(found.records)],
            version=__version__,
        )
    )


def _examples(records: tuple[Record, ...]) -> list[Record]:
    """A few of every status and kind, in turn."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.status, record.kind), []).append(record)
    turns = max(map(len, groups.values()))
    return [group[turn] for turn in range(turns) for group in groups.values() if turn < len(group)][:SHOWN]


def _example(record: Record) -> dict[str, Any]:
    shaded = {name: given.scores for name, given in record.given.items() if given.scores}
    return {
        "record": record,
        "status": STATUS[record.status],
        "decides": record.deciding if record.confirmed else [],
        "methods": [{"name": name_in_words(name), "shades": _shades(scores)} for name, scores in shaded.items()],
        "sources": [
            {
                "number": source + 1,
                "items": [item for item, of in enumerate(record.of_source) if of == source],
                "drop": sum(record.drops[item] for item, of in enumerate(record.of_source) if of == source),
            }
            for source in range(len(record.sources))
        ],
        "first": [
            {"name": name_in_words(name), "source": record.of_source[int(np.argmax(s))] + 1}
            for name, s in shaded.items()
        ],
    }


def _shades(scores: list[float]) -> list[tuple[str, float]]:
    """For every item whether it speaks for or against the answer, and how strongly, from 0 to 0.9."""
    largest = max(map(abs, scores)) or 1.0
    return [("for" if score >= 0 else "against", round(0.9 * abs(score) / largest, 3)) for score in scores]


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")

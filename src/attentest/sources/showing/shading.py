"""One question for a page: its sources, shaded by every method."""

from __future__ import annotations

from typing import Any

import numpy as np

from attentest.registry import name_in_words
from attentest.sources.judging.record import Record
from attentest.sources.showing.words import STATUS

__all__ = ["number", "shaded_example", "shades"]


def shaded_example(record: Record) -> dict[str, Any]:
    """What ``article.html`` shows."""
    given = {name: each.scores for name, each in record.given.items() if each.scores}
    return {
        "record": record,
        "status": STATUS[record.status],
        "decides": record.deciding if record.confirmed else [],
        "methods": [{"name": name_in_words(name), "shades": shades(scores)} for name, scores in given.items()],
        "sources": [
            {
                "number": source + 1,
                "items": [item for item, of in enumerate(record.of_source) if of == source],
                "drop": sum(record.drops[item] for item, of in enumerate(record.of_source) if of == source),
            }
            for source in range(len(record.sources))
        ],
        "first": [
            {"name": name_in_words(name), "source": record.of_source[int(np.argmax(scores))] + 1}
            for name, scores in given.items()
        ],
    }


def shades(scores: list[float]) -> list[tuple[str, float]]:
    """For every item whether it speaks for or against the answer, and how strongly, from 0 to 0.9."""
    largest = max(map(abs, scores)) or 1.0
    return [("for" if score >= 0 else "against", round(0.9 * abs(score) / largest, 3)) for score in scores]


def number(value: float) -> str:
    """Two digits, and a minus that is one."""
    return f"{value:.2f}".replace("-", "−")

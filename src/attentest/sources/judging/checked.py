"""Records as they are kept, read again: whoever made an audit's folder may have sealed anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from attentest.sources.judging.record import Record

__all__ = ["record_of"]


def record_of(line: str) -> Record:
    """The record in a line; ValueError where it is none, or its lists do not belong together."""
    try:
        record = Record.from_json(line)
        items = len(record.items)
        texts = (record.id, record.question, record.answer, record.span, record.kind, *record.sources, *record.items)
        whole = (
            all(isinstance(text, str) for text in texts)
            and isinstance(record.explained, int)
            and record.explained > 0
            and isinstance(record.tokens, int)
            and _numbers(record.without, items)
            and _numbers([record.whole, record.empty], 2)
            and len(record.of_source) == items > 0
            and all(isinstance(source, int) and 0 <= source < len(record.sources) for source in record.of_source)
            and _rows(record.kept, record.values, items)
            and _rows(record.ablations, record.told, items)
            and all(isinstance(place, int) for place in (*record.deciding, record.injected))
            and len(record.margins) in (0, 2)
            and _numbers(record.margins, len(record.margins))
            and all(not given.scores or _numbers(given.scores, items) for given in record.given.values())
            and all(_numbers([given.passes, given.seconds], 2) for given in record.given.values())
            and np.array(record.heads, dtype=np.float64).shape[2:] == (items,)
        )
    except (TypeError, LookupError, AttributeError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
    if not whole:
        raise ValueError("its lists do not belong together")
    return record


def _numbers(values: Sequence[Any], count: int) -> bool:
    return len(values) == count and all(type(value) in (int, float) for value in values)


def _rows(kept: Sequence[Sequence[bool]], values: Sequence[Any], items: int) -> bool:
    return _numbers(values, len(kept)) and all(len(row) == items and set(row) <= {True, False} for row in kept)

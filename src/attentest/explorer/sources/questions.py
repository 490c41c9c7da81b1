"""What the pages of an audit of sources are given: its methods, a page of its questions, one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from attentest.errors import InputError, UnknownName
from attentest.explorer.data.files import NoSuchText
from attentest.registry import name_in_words

if TYPE_CHECKING:
    from attentest.sources.auditing import SourcesAudit
    from attentest.sources.judging.record import Record

__all__ = ["one_question", "page_of_questions", "summary"]

Row = dict[str, Any]
#: Questions on a page, and at most.
SIZE, MOST = 25, 200
#: Characters of a question and of an answer in a list.
EXCERPT = 300


def summary(found: SourcesAudit, *, report: bool) -> Row:
    """The verdict, and what every method is worth."""
    from attentest.sources.showing.words import came_from, headline, of_layers

    whole = found.to_record()
    return {
        "id": found.folder.name,
        "model": found.model,
        "headline": headline(found),
        "came_from": came_from(found),
        "of_layers": of_layers(found),
        "answered": asdict(found.answered),
        "methods": [_worded(method) for method in whole["methods"]],
        "layers": [_worded(layer) for layer in whole["layers"]],
        "statuses": _statuses(),
        "kinds": sorted({record.kind for record in found.records if record.kind}),
        "report": report,
    }


def page_of_questions(found: SourcesAudit, asked: Mapping[str, str]) -> Row:
    """Some questions: of a status, of a planted kind, those in which a method misses the source that matters most."""
    status, kind, missed = (asked.get(name, "") for name in ("status", "kind", "missed"))
    _one_of("status", status, _statuses())
    _one_of("kind", kind, sorted({record.kind for record in found.records if record.kind}))
    _one_of("missed", missed, _methods(found))
    rows = [
        row
        for row, record in enumerate(found.records)
        if (not status or record.status == status)
        and (not kind or record.kind == kind)
        and (not missed or _misses(record, missed))
    ]
    size = min(_whole(asked, "size", SIZE), MOST)
    pages = max(1, -(-len(rows) // size))
    page = min(_whole(asked, "page", 1), pages)
    return {
        "total": len(rows),
        "questions": len(found.records),
        **{"page": page, "pages": pages, "size": size},
        "rows": [_in_a_list(row, found.records[row]) for row in rows[(page - 1) * size : page * size]],
    }


def one_question(found: SourcesAudit, row: int) -> Row:
    """One question: its sources, what every method says of them, and what happens without each."""
    from attentest.sources.attended import ROLES
    from attentest.sources.judging.measures import row_of

    if not 0 <= row < len(found.records):
        many = len(found.records)
        raise NoSuchText(f"Question {row} is outside of the {many:,} questions of {found.folder.name}, from 0.")
    record = found.records[row]
    rest = dict(zip(ROLES, record.rest, strict=True)) if len(record.rest) == len(ROLES) else {}
    return {
        **{"row": row, "questions": len(found.records), "audit": found.folder.name, "model": found.model},
        **{"id": record.id, "question": record.question, "answer": record.answer, "span": record.span},
        **{"status": record.status, "status_in_words": _statuses()[record.status], "kind": record.kind},
        **{"sources": record.sources, "items": record.items, "of_source": record.of_source},
        **{"whole": record.whole, "without_any": record.empty, "without_each": record.without},
        "drops": record.drops.tolist(),
        "deciding": record.deciding if record.confirmed else [],
        "planted": record.deciding,
        "injected": record.injected if record.injected >= 0 else None,
        "tokens": record.tokens,
        "methods": [_said(record, name, row_of(record, name)) for name in _methods(found) if name in record.given],
        "layers": np.array(record.heads).mean(1).tolist(),
        "elsewhere": rest,
    }


def _said(record: Record, name: str, worth: Mapping[str, Any]) -> Row:
    """What one method says of one question's items, and what that is worth."""
    given = record.given[name]
    first = int(np.argmax(given.scores)) if given.scores else None
    return {
        **{"method": name, "name": name_in_words(name), "scores": given.scores},
        "first": first,
        "first_source": None if first is None else record.of_source[first],
        **{key: worth[key] for key in ("share", "drop", "lds", "hit")},
        **{"passes": given.passes, "seconds": given.seconds, "not_judged": given.not_judged or None},
    }


def _in_a_list(row: int, record: Record) -> Row:
    most = int(np.argmax(record.drops))
    return {
        **{"row": row, "id": record.id, "question": record.question[:EXCERPT], "answer": record.answer[:EXCERPT]},
        **{"status": record.status, "status_in_words": _statuses()[record.status], "kind": record.kind},
        **{"sources": len(record.sources), "fall": record.whole - record.empty},
        **{"most": record.of_source[most], "most_drop": float(record.drops[most])},
    }


def _misses(record: Record, method: str) -> bool:
    """Whether an answer hangs on its sources, and the method puts another first than the one that matters most."""
    given = record.given.get(method)
    if record.status != "sources" or given is None or not given.scores:
        return False
    return record.of_source[int(np.argmax(given.scores))] != record.of_source[int(np.argmax(record.drops))]


def _worded(method: Row) -> Row:
    return {**method, "name": name_in_words(method["method"])}


def _methods(found: SourcesAudit) -> list[str]:
    return [ruling.judged.method for ruling in found.rulings]


def _statuses() -> dict[str, str]:
    from attentest.sources.showing.words import STATUS

    return STATUS


def _one_of(name: str, value: str, known: Any) -> None:
    if value and value not in known:
        raise UnknownName(f"{name} of these questions", value[:60], [*known] or ["(none)"])


def _whole(asked: Mapping[str, str], name: str, default: int) -> int:
    text = asked.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and int(text[:9]) > 0 and len(text) < 10):
        raise InputError(f"{name}={text[:40]!r} must be a whole number from 1.")
    return int(text)

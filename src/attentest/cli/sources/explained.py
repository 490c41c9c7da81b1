"""attentest explain, for answers from sources: one answer with its sources shaded by every method."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from attentest.cli.terminal import Terminal
from attentest.errors import InputError, StorageError
from attentest.printing import echo, echo_json

__all__ = ["explain_answer"]


def explain_answer(
    text: str,
    model: str,
    *,
    sources: Sequence[str],
    answer: str | None,
    methods: Sequence[str],
    html: Path | None,
    folder: Path,
    as_json: bool,
    terminal: Terminal,
) -> None:
    """Look a question up in an audit, or put a new one with its sources; print it and write its page."""
    from attentest.explaining import named
    from attentest.sources.explaining import explain_sources
    from attentest.sources.question import Question
    from attentest.store.atomic import make_folder

    if answer is not None and not sources:
        raise InputError("--answer belongs to a new question: give its sources as well (--source TEXT, one each).")
    asked = Question(text, tuple(sources), answer, id=text) if sources else text
    with terminal.console.status("Explaining …"):
        found = explain_sources(asked, model, methods=named(list(methods)) if methods else ())
    if html is not None:
        found.save(html)
    if as_json:
        echo_json(found.to_record())
        return
    found.show()
    echo()
    if html is None:
        letters = (sign if sign.isascii() and sign.isalnum() else " " for sign in found.record.question.lower())
        words = "-".join("".join(letters).split()[:6])[:40] or "question"
        told = hashlib.sha256(repr((found.record.sources, found.record.answer, list(found.record.given))).encode())
        html = folder / f"{words}-{told.hexdigest()[:6]}.html"
        try:
            make_folder(folder)
            found.save(html)
        except StorageError as error:
            terminal.say(f"No page was written. {error}")
            return
    echo(f"Page  {html}")

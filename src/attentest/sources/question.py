"""A question over sources, as a user gives it: in Python, or as a row of a JSON Lines file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attentest.data.files.given import bytes_of_given
from attentest.errors import InputError, shown

__all__ = ["Planted", "Question", "read_questions"]

#: Bytes of a file of questions.
LARGEST = 1 << 30


@dataclass(frozen=True)
class Planted:
    """What is planted in a question: its kind, which sources should decide, and what they say when exchanged."""

    kind: str
    #: The sources that were written to decide the answer, by number; together, where there are several.
    deciding: tuple[int, ...]
    #: The value that the deciding sources give, and the one that their twins give.
    value: str
    other: str
    #: The twins: what stands in the place of every deciding source when it is exchanged.
    twins: tuple[str, ...]
    #: The source that carries an injected instruction; −1: none does.
    injected: int = -1


@dataclass(frozen=True)
class Question:
    """A question, the sources it is to be answered from, and perhaps the answer; else the model's own is taken."""

    question: str
    sources: tuple[str, ...]
    answer: str | None = None
    #: The part of the answer that is explained; "": all of it.
    span: str = ""
    id: str = ""
    planted: Planted | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        where = f"Question {shown(self.id or self.question, 60)}"
        for text in (self.id, self.question, self.answer or "", self.span, *self.sources):
            try:
                text.encode()
            except UnicodeEncodeError as error:
                half = text[error.start]
                raise InputError(f"{where}: {half!r} is half a character, which no text has. Take it out.") from error
        if not self.question.strip():
            raise InputError(f"{where}: the question is empty. Leave the row out, or write the question.")
        if not self.sources:
            raise InputError(f"{where} has no sources: give at least one text to answer from.")
        if empty := [number for number, text in enumerate(self.sources, 1) if not text.strip()]:
            raise InputError(f"{where}: source {empty[0]} is empty. Leave it out: there is nothing in it to remove.")
        if self.answer is not None and not self.answer.strip():
            raise InputError(f"{where}: the answer is empty. Leave it out, and the model's own is taken.")
        if self.span and (self.answer is None or self.span not in self.answer):
            raise InputError(
                f"{where}: the span {shown(self.span)} is no part of a given answer. Quote it as it stands."
            )

    def exchanged(self, others: Mapping[int, str]) -> Question:
        """The same question with other texts in the place of some sources, by number."""
        sources = tuple(others.get(number, text) for number, text in enumerate(self.sources))
        return Question(self.question, sources, self.answer, self.span, self.id)


def read_questions(
    path: Path, *, sources_column: str = "contexts", question_column: str = "question", answer_column: str = "answer"
) -> Iterator[Question]:
    """The questions of a JSON Lines file, row by row; sources are a list of texts, an answer may be there or not."""
    try:
        lines = bytes_of_given(path, LARGEST).decode("utf-8-sig").split("\n")  # U+2028 may stand in a text
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}). Give a JSON Lines file in UTF-8.") from error
    if not any(line.strip() for line in lines):
        raise InputError(f"{path} is empty: write one JSON object a line, with a question and its sources.")
    seen: set[str] = set()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        question = _question(
            f"{path.name}, line {number}", line, (sources_column, question_column, answer_column), number
        )
        if question.id in seen:
            raise InputError(f"{path.name}, line {number}: the id {shown(question.id)} stands twice. Make ids unique.")
        seen.add(question.id)
        yield question


def _question(where: str, line: str, columns: tuple[str, str, str], number: int) -> Question:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is no JSON ({error}). Write one object a line.") from error
    sources_column, question_column, answer_column = columns
    if not isinstance(row, dict):
        raise InputError(
            f"{where} is {shown(row)}, and must be an object with {question_column!r} and {sources_column!r}."
        )
    if missing := [column for column in (question_column, sources_column) if column not in row]:
        options = "--question-column" if missing[0] == question_column else "--sources-column"
        raise InputError(
            f"{where} has no column {missing[0]!r}; it has {', '.join(map(repr, row)) or 'none'}. "
            f"Name yours ({options})."
        )
    question, sources = row[question_column], row[sources_column]
    if isinstance(sources, str):
        sources = [sources]
    if not isinstance(question, str) or not isinstance(sources, list) or not all(isinstance(s, str) for s in sources):
        raise InputError(f"{where}: {question_column!r} must be a text and {sources_column!r} a list of texts.")
    answer, span, name = row.get(answer_column), row.get("span", ""), row.get("id", str(number))
    if not isinstance(answer, str | None) or not isinstance(span, str) or not isinstance(name, str | int):
        raise InputError(f"{where}: {answer_column!r} and 'span' must be texts, 'id' a text or a whole number.")
    try:
        return Question(question, tuple(sources), answer, span, str(name))
    except InputError as error:
        raise InputError(f"{where}: {error}") from error

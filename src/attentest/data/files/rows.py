"""The rows of a file that can be used, tokenised, and a line about those that cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attentest.data.files.columns import Columns, texts_of
from attentest.data.files.concerns import concerns_of_spaces
from attentest.data.files.formats import Table
from attentest.data.tokenizers import tokenize
from attentest.errors import InputError

__all__ = ["Preparation", "Rows"]

ROWS_NAMED = 5


@dataclass(frozen=True)
class Rows:
    """Usable rows, with their numbers in the file (from 1), and the lines about the others."""

    numbers: list[int]
    ids: list[str]
    tokens: list[list[str]]
    labels: list[str]
    second: list[list[str]] | None
    rationale: list[list[bool]] | None
    left_out: list[str]
    #: What else there is to say of them.
    notes: list[str]


@dataclass(frozen=True)
class Preparation:
    """How texts become tokens, and how many a text may have: longer ones are left out, or cut."""

    tokenizer: str = "english"
    lowercase: bool = True
    max_tokens: int = 1000
    #: Cut longer texts to so many tokens; None: none is cut.
    truncate: int | None = None

    def __post_init__(self) -> None:
        for name, value in (("max_tokens", self.max_tokens), ("truncate", self.truncate)):
            if value is not None and value < 1:
                raise InputError(f"{name}={value} must be at least 1.")

    def __str__(self) -> str:
        case = "lower case, " if self.lowercase else ""
        most = f"at most {self.max_tokens} a text" if self.truncate is None else f"cut after {self.truncate}"
        return f"{self.tokenizer} tokens, {case}{most}"

    def rows(self, table: Table, columns: Columns) -> Rows:
        """The rows, tokenised, that have a text and a label and are not too long."""
        ids = _ids(table, columns.id)
        text, label = _cells(table, columns.text), _cells(table, columns.label)
        second = None if columns.second is None else _cells(table, columns.second)
        left_out: dict[str, list[int]] = {}
        present = []
        for row in range(table.rows):
            if not text[row]:
                left_out.setdefault("empty text", []).append(row)
            elif second is not None and not second[row]:
                left_out.setdefault("empty second text", []).append(row)
            elif not label[row]:
                left_out.setdefault("missing label", []).append(row)
            else:
                present.append(row)
        tokens = self._tokens(text, present)
        second_tokens = {} if second is None else self._tokens(second, present)
        length = {row: max(len(tokens[row]), len(second_tokens.get(row, ()))) for row in present}
        most = self.max_tokens if self.truncate is None else self.truncate
        too_long = [row for row in present if length[row] > most]
        longest = max((length[row] for row in too_long), default=0)
        kept = present
        notes = [*table.notes, *concerns_of_spaces([text[row] for row in present], self.tokenizer)]
        if too_long and self.truncate is None:
            kept = [row for row in present if length[row] <= most]
            size = f"{longest} tokens" if len(too_long) == 1 else f"up to {longest} tokens"
            left_out[f"{size}, more than --max-tokens {most}"] = too_long
        elif too_long:
            notes.append(
                f"{len(too_long)} of {len(present)} texts cut to their first {most} tokens (the longest had {longest})"
            )
        lines = [_line(reason, rows) for reason, rows in left_out.items()]
        if not kept:
            beside = "" if columns.second is None else f", second_column ({columns.second})"
            raise InputError(
                f"No row of {table.name} can be used: {'; '.join(lines)}. "
                f"Check text_column ({columns.text}){beside}, label_column ({columns.label}) and max_tokens."
            )
        rationale = None
        if columns.rationale is not None:
            rationale = self._rationale(table, columns.rationale, {row: tokens[row] for row in kept})
            rationale = None if rationale is None else [flags[: self.truncate] for flags in rationale]
            if rationale is None:
                lines.append(f"column {columns.rationale!r} left out: it needs --tokenizer whitespace and lists of 0/1")
        return Rows(
            [row + 1 for row in kept],
            [ids[row] for row in kept],
            [tokens[row][: self.truncate] for row in kept],
            [label[row] for row in kept],
            None if second is None else [second_tokens[row][: self.truncate] for row in kept],
            rationale,
            lines,
            notes,
        )

    def _tokens(self, texts: Sequence[str], rows: Sequence[int]) -> dict[int, list[str]]:
        lists = tokenize((texts[row] for row in rows), self.tokenizer, lowercase=self.lowercase)
        return dict(zip(rows, lists, strict=True))

    def _rationale(self, table: Table, column: str, tokens: Mapping[int, Sequence[str]]) -> list[list[bool]] | None:
        """One flag per token, or None where the tokens are not the file's or a cell is no list."""
        cells = table.cells(column)
        flags = [cell for row in tokens if isinstance(cell := cells[row], list)]
        if self.tokenizer != "whitespace" or len(flags) < len(tokens):
            return None
        for (row, words), flag in zip(tokens.items(), flags, strict=True):
            if len(flag) != len(words) or not all(value in (0, 1) for value in flag):
                raise InputError(
                    f"{table.name}, row {row + 1}: column {column!r} must hold one 0 or 1 for each of the "
                    f"text's {len(words)} words between spaces, and holds {len(flag)} values."
                )
        return [[bool(value) for value in flag] for flag in flags]


def _cells(table: Table, column: str) -> list[str]:
    return [(text or "").strip() for text in texts_of(table, column)]


def _ids(table: Table, column: str | None) -> list[str]:
    """The rows' ids, else the file's name and the row's number."""
    if column is None:
        return [f"{table.stem}-{number}" for number in range(1, table.rows + 1)]
    ids = _cells(table, column)
    first: dict[str, int] = {}
    for number, name in enumerate(ids, start=1):
        if not name or name in first:
            wrong = f"rows {first[name]} and {number} have the same id {name!r}" if name else f"row {number} has no id"
            raise InputError(
                f"{table.name}: {wrong} in column {column!r}. Give every row its own id, "
                "name another column (id_column, --id-column), or rename this one."
            )
        first[name] = number
    return ids


def _line(reason: str, rows: Sequence[int]) -> str:
    numbers = [str(row + 1) for row in rows[:ROWS_NAMED]] + ["…"] * (len(rows) > ROWS_NAMED)
    noun = "row" if len(rows) == 1 else "rows"
    return f"{len(rows)} {noun} left out: {reason} ({noun} {', '.join(numbers)})"

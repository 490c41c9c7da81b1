"""Delimited text as records: the delimiter is found, and every row must fit the header."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from attentest.errors import InputError

__all__ = ["records"]

LARGEST_FIELD = 2**31 - 1
_QUOTED = re.compile(r'"((?:[^"]|"")*)"', re.DOTALL)


@dataclass(frozen=True)
class Record:
    """The fields of one row and the line on which it begins."""

    line: int
    fields: list[str]


def records(file: str, text: str, delimiters: str) -> tuple[list[str], list[list[str]]]:
    """The header and the rows; the delimiter is the one most frequent in the header line.

    Tab-separated files are often written without quoting, quotation marks being plain characters: they are
    read line by line, unless the lines do not fit the header.
    """
    first_line = re.split(r"[\r\n]", text.lstrip("\r\n"), maxsplit=1)[0]
    delimiter = max(delimiters, key=first_line.count)
    if delimiter == "\t":
        header, *rows = _parsed(file, text, delimiter, csv.QUOTE_NONE)
        if all(len(row.fields) == len(header.fields) for row in rows):
            return _unquoted(header.fields), [_unquoted(row.fields) for row in rows]
    header, *rows = _parsed(file, text, delimiter, csv.QUOTE_MINIMAL)
    columns = len(header.fields)
    for row in rows:
        if any(row.fields[columns:]):
            mark = "a tab" if delimiter == "\t" else f"a {delimiter!r}"
            raise InputError(
                f"{file}, line {row.line} has {len(row.fields)} fields and the header {columns}: "
                f'put a text that holds {mark} in "quotation marks".'
            )
    return header.fields, [row.fields[:columns] for row in rows]


def _parsed(file: str, text: str, delimiter: str, quoting: Literal[0, 3]) -> list[Record]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, quoting=quoting, strict=True)
    found: list[Record] = []
    line = 1
    with _fields_of_any_length():
        try:
            for fields in reader:
                if fields:
                    found.append(Record(line, fields))
                line = reader.line_num + 1
        except csv.Error as error:
            raise InputError(
                f"{file}, the row that begins on line {line} has a quotation mark that is not closed, "
                'or text after it. Inside a quoted text write the mark twice ("").'
            ) from error
    return found


def _unquoted(fields: list[str]) -> list[str]:
    return [
        match[1].replace('""', '"') if field[:1] == '"' and (match := _QUOTED.fullmatch(field)) else field
        for field in fields
    ]


@contextmanager
def _fields_of_any_length() -> Iterator[None]:
    before = csv.field_size_limit(LARGEST_FIELD)
    try:
        yield
    finally:
        csv.field_size_limit(before)

"""Which column of a file holds what: named by the user, or guessed where it is obvious."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from attentest.data.files.formats import Table
from attentest.data.files.labels import is_number
from attentest.errors import InputError

__all__ = ["Columns", "columns_of", "texts_of"]

# fmt: off
TEXT_NAMES = (
    "text", "sentence", "review", "review_text", "content", "document", "body", "comment", "comment_text",
    "tweet", "message", "post", "passage", "utterance", "description",
)
LABEL_NAMES = (
    "label", "class", "target", "category", "sentiment", "y", "rating", "gold", "gold_label", "stars",
    "polarity", "topic", "intent", "emotion",
)
# fmt: on


@dataclass(frozen=True)
class Columns:
    """The columns of a file by what they hold."""

    text: str
    label: str
    second: str | None = None
    id: str | None = None
    split: str | None = None
    rationale: str | None = None


def columns_of(
    table: Table,
    *,
    text: str | None = None,
    label: str | None = None,
    second: str | None = None,
    id: str | None = None,  # noqa: A002
) -> Columns:
    """The columns the user named; the others by well-known names, or because no other can be meant."""
    named = {"text": text, "label": label, "second": second, "id": id}
    for role, name in named.items():
        if name is not None and name not in table.columns:
            raise InputError(
                f"{table.name} has no column {name!r} ({role}_column, --{role}-column). It has: {_listed(table)}."
            )
    taken = [name for name in named.values() if name is not None]
    twice = next((name for name in taken if taken.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"{table.name}: column {twice!r} is named for two purposes: name two columns.")
    for role in ("id", "split", "rationale"):
        if named.get(role) is None:
            named[role] = _called(table, (role,), taken)
            taken.extend(name for name in [named[role]] if name is not None)
    for role, names in (("text", TEXT_NAMES), ("label", LABEL_NAMES)):
        if named[role] is None:
            named[role] = _called(table, names, taken)
            taken.extend(name for name in [named[role]] if name is not None)
    _guess_by_content(table, named, [name for name in table.columns if name and name not in taken])
    for role in ("text", "label"):
        if named[role] is None:
            raise InputError(
                f"Which column of {table.name} holds the {role}? It has: {_listed(table)}. "
                f"Name one ({role}_column, --{role}-column)."
            )
    return Columns(**named)  # type: ignore[arg-type]


def texts_of(table: Table, column: str) -> list[str | None]:
    """A column's cells as text, None where there is no value."""
    texts: list[str | None] = []
    for row, cell in enumerate(table.cells(column), start=1):
        if cell is None or (isinstance(cell, float) and math.isnan(cell)):
            texts.append(None)
        elif isinstance(cell, dict | list | tuple | bytes):
            raise InputError(
                f"{table.name}, row {row}: column {column!r} holds a {type(cell).__name__}, not a text. "
                "Name another column, or write it as text."
            )
        else:
            # NUL and lone surrogates, which JSON can spell, are no text that could be stored.
            texts.append(str(cell).replace("\0", "").encode("utf-8", "replace").decode())
    return texts


def _called(table: Table, names: Sequence[str], taken: Sequence[str]) -> str | None:
    """The only column with one of these names, or the one with the first of them."""
    spelled = {re.sub(r"[\s-]+", "_", name.strip().lower()): name for name in table.columns if name not in taken}
    found = [name for name in names if name in spelled]
    return spelled[found[0]] if found and (len(found) == 1 or found[0] == names[0]) else None


def _guess_by_content(table: Table, named: dict[str, str | None], free: Sequence[str]) -> None:
    """Where as many columns are free as roles are open, and only one fits: it is that."""
    wanted = [role for role in ("text", "label") if named[role] is None]
    if not wanted or len(free) != len(wanted):
        return
    prose = [name for name in free if _reads_like_text(texts_of(table, name))]
    if len(prose) != wanted.count("text"):
        return
    for name in free:
        named["text" if name in prose else "label"] = name
    label = named["label"]
    if label is not None and (is_number(label) or label in texts_of(table, label)):
        raise InputError(
            f"The first line of {table.name} ({_listed(table)}) looks like a row, not like a header: "
            "put a line with the columns' names before it, such as text,label."
        )


def _reads_like_text(texts: Sequence[str | None]) -> bool:
    """Whether most values differ from each other and not all are numbers, as no class label would."""
    present = [text for text in texts if text is not None and text.strip()]
    return 2 * len(set(present)) > len(present) and not all(is_number(text) for text in present)


def _listed(table: Table, limit: int = 20) -> str:
    names = [(name if len(name) < 40 else f"{name[:40]}…") or "(no name)" for name in table.columns]
    return ", ".join(names[:limit]) + (", …" if len(names) > limit else "")

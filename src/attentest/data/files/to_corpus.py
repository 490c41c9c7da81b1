"""The user's own labelled texts as a corpus."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from attentest.data.corpus import Corpus, Provenance, Split
from attentest.data.files.columns import columns_of, texts_of
from attentest.data.files.concerns import concerns_of_labels
from attentest.data.files.formats import Table
from attentest.data.files.frames import table_of
from attentest.data.files.labels import classes_of, one_spelling
from attentest.data.files.rows import Preparation, Rows
from attentest.data.splits import FRACTIONS, by_text, same_text
from attentest.data.tokenizers import TOKENIZERS
from attentest.errors import InputError, UnknownName

__all__ = ["corpus_from_files"]

#: How a split column may spell each split.
SPLIT_NAMES: Mapping[str, str] = {
    "train": "train",
    "training": "train",
    "dev": "dev",
    "val": "dev",
    "valid": "dev",
    "validation": "dev",
    "test": "test",
}


def corpus_from_files(
    data: Any,
    *,
    test: Any = None,
    text_column: str | None = None,
    label_column: str | None = None,
    second_column: str | None = None,
    id_column: str | None = None,
    tokenizer: str = "english",
    lowercase: bool = True,
    min_frequency: int = 1,
    max_tokens: int = 1000,
    truncate: int | None = None,
    encoding: str | None = None,
    classes: Sequence[str] | None = None,
) -> Corpus:
    """A corpus from CSV, TSV, JSON lines or Parquet, or from rows in Python; columns are guessed where that is safe.

    A column ``split`` is honoured; splits it lacks are cut from its training rows, by their texts (``by_text``).
    ``test`` is the test split. Rows left out are counted in the provenance. Texts longer than ``max_tokens`` are left
    out; with ``truncate`` they are cut to so many tokens instead.
    ``classes`` are those of a model already trained: labels must be among them, need not be all of them, and every
    row is for testing unless a split column or ``test`` says which are.
    """
    if tokenizer not in TOKENIZERS:
        raise UnknownName("tokenizer", tokenizer, TOKENIZERS)
    preparation = Preparation(tokenizer, lowercase, max_tokens, truncate)
    table = table_of(data, encoding)
    columns = columns_of(table, text=text_column, label=label_column, second=second_column, id=id_column)
    rows = preparation.rows(table, columns)
    parts = _marked(table, columns.split, rows, training=classes is None)
    own = len(rows.ids)
    if test is not None:
        test_table = table_of(test, encoding)
        if parts["test"]:
            raise InputError(
                f"{table.name} marks {len(parts['test'])} rows as test, and {test_table.name} was given as the "
                "test split too: keep one of them."
            )
        same = {"text": columns.text, "label": columns.label, "second": columns.second, "id": id_column}
        rows = _joined(table, rows, test_table, preparation.rows(test_table, columns_of(test_table, **same)))
        parts["test"] = list(range(own, len(rows.ids)))
    rows = dataclasses.replace(rows, labels=one_spelling(rows.labels))
    if classes is None:
        known = classes_of(rows.labels[:own], f"column {columns.label!r} of {table.name}")
    else:
        known = tuple(classes)
    if classes is not None:
        parts = {"train": [], "dev": [], "test": parts["test"] or parts["train"]}
    missing = [name for name in FRACTIONS if not parts[name]] if classes is None else []
    if missing:
        parts |= _cut(rows, parts, missing)
    if classes is None:
        _refuse_labels_outside(rows, parts, columns.label, "training", {rows.labels[i] for i in parts["train"]})
    else:
        _refuse_labels_outside(rows, parts, columns.label, "the model", set(classes))
    texts = {name: {same_text(rows.tokens[row]) for row in parts[name]} for name in FRACTIONS}
    shared = len(texts["test"] & (texts["train"] | texts["dev"]))
    also = [f"{shared} {'text' if shared == 1 else 'texts'} of test also in train or dev"] if shared else []
    concerns = concerns_of_labels(_keys(rows), rows.labels)
    cut = f"; {' and '.join(missing)} cut from train by a hash of the text" if missing else ""
    return Corpus(
        table.stem,
        known,
        {name: _split(rows, parts[name], known) for name in FRACTIONS},
        Provenance(
            source=table.source if test is None else f"{table.source}, test: {test_table.source}",
            preparation=f"{preparation}{cut}",
            left_out=(*rows.left_out, *also),
            notes=(*rows.notes, *concerns),
            rationale="" if rows.rationale is None else "human",
        ),
        task="single" if columns.second is None else "pair",
        min_frequency=min_frequency,
    )


def _marked(table: Table, column: str | None, rows: Rows, *, training: bool) -> dict[str, list[int]]:
    """Which usable rows the file's split column puts where; without one, all are for training."""
    parts: dict[str, list[int]] = {name: [] for name in FRACTIONS}
    if column is None:
        parts["train"] = list(range(len(rows.ids)))
        return parts
    marks = texts_of(table, column)
    for row, number in enumerate(rows.numbers):
        mark = marks[number - 1] or ""
        name = SPLIT_NAMES.get(mark.strip().lower())
        if name is None:
            raise InputError(
                f"{table.name}, row {number}: {mark!r} in column {column!r} is no split: "
                "write train, dev or test, or rename the column."
            )
        parts[name].append(row)
    if training and not parts["train"]:
        raise InputError(
            f"{table.name}: column {column!r} marks no usable row as train: mark some, or rename the column."
        )
    return parts


def _joined(table: Table, rows: Rows, test_table: Table, others: Rows) -> Rows:
    """The rows of both files; if an id occurs in both, those of the second get the prefix ``test-``."""
    shared = not set(rows.ids).isdisjoint(others.ids)
    with_rationale = rows.rationale is not None and others.rationale is not None
    return Rows(
        rows.numbers + others.numbers,
        rows.ids + [f"test-{name}" if shared else name for name in others.ids],
        rows.tokens + others.tokens,
        rows.labels + others.labels,
        None if rows.second is None else rows.second + (others.second or []),
        (rows.rationale or []) + (others.rationale or []) if with_rationale else None,
        [f"{table.name}: {line}" for line in rows.left_out]
        + [f"{test_table.name}: {line}" for line in others.left_out],
        list(dict.fromkeys((*rows.notes, *others.notes))),
    )


def _keys(rows: Rows) -> list[tuple[str, str]]:
    """What rows have in common that no model can tell apart."""
    second: Sequence[Sequence[str]] = rows.second or [()] * len(rows.tokens)
    return [(same_text(one), same_text(other)) for one, other in zip(rows.tokens, second, strict=True)]


def _cut(rows: Rows, parts: Mapping[str, Sequence[int]], missing: Sequence[str]) -> dict[str, list[int]]:
    """The splits that are missing, cut from training: none of their texts is in another split."""
    keys = [same_text(tokens) for tokens in rows.tokens]
    given = {keys[row] for name, chosen in parts.items() if name != "train" for row in chosen}
    free = [row for row in parts["train"] if keys[row] not in given]
    places = by_text(
        [keys[row] for row in free],
        [rows.labels[row] for row in free],
        fractions={name: FRACTIONS[name] for name in ("train", *missing)},
    )
    cut = {name: [free[place] for place in chosen] for name, chosen in places.items()}
    return {**cut, "train": sorted({*cut["train"], *parts["train"]} - {row for name in missing for row in cut[name]})}


def _refuse_labels_outside(
    rows: Rows, parts: Mapping[str, Sequence[int]], column: str, owner: str, known: set[str]
) -> None:
    for name, chosen in parts.items():
        unseen = {rows.labels[row] for row in chosen} - known
        if unseen:
            raise InputError(
                f"Column {column!r}: the {name} split has labels that {owner} lacks: {_listed(unseen)} "
                f"({owner} has {_listed(known)}). Take those rows out, or add such rows to training."
            )


def _listed(labels: set[str], limit: int = 5) -> str:
    named = [repr(label) for label in sorted(labels)[:limit]]
    return ", ".join(named + ["…"] * (len(labels) > limit))


def _split(rows: Rows, chosen: Sequence[int], classes: Sequence[str]) -> Split:
    index = {label: i for i, label in enumerate(classes)}
    return Split.of(
        [rows.ids[row] for row in chosen],
        [rows.tokens[row] for row in chosen],
        [index[rows.labels[row]] for row in chosen],
        second=None if rows.second is None else [rows.second[row] for row in chosen],
        rationale=None if rows.rationale is None else [rows.rationale[row] for row in chosen],
    )

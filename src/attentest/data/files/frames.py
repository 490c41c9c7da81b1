"""Rows that a Python program holds, as a table: DataFrames, Datasets, Arrow tables, lists and dictionaries.

No library is imported for this: an object that is here has brought its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from attentest.data.files.formats import Table, columns_of_objects, read_table
from attentest.errors import InputError

__all__ = ["is_frame", "table_of", "table_of_texts"]

#: What a corpus is called, and its rows, where there is no file to name them.
STEM = "data"


def is_frame(data: object) -> bool:
    """Whether the rows are here already, not in a file."""
    return data is not None and not isinstance(data, str | PathLike)


def table_of(data: Any, encoding: str | None = None) -> Table:
    """The rows of a file, a DataFrame (pandas, polars), a Dataset, an Arrow table, or of lists and dictionaries."""
    if isinstance(data, Table):
        return data
    if not is_frame(data):
        return read_table(Path(data), encoding)
    package = type(data).__module__.partition(".")[0].replace("builtins", "")
    kind = f"{package} {type(data).__name__}".strip()
    columns = _columns(data)
    if columns is None:
        raise InputError(
            f"data is of type {kind}: give a path, a DataFrame, a Dataset, an Arrow table, a list of dictionaries, or "
            "texts and labels."
        )
    rows = len(next(iter(columns.values()), ()))
    if not rows:
        raise InputError(f"The {kind} has no rows: give some, each with a text and a label.")
    if uneven := next((name for name, values in columns.items() if len(values) != rows), None):
        raise InputError(f"data: column {uneven!r} has {len(columns[uneven])} values, and the first {rows}.")
    return Table(f"the {type(data).__name__}", STEM, columns, rows, f"{kind} of {rows} rows, given in Python")


def table_of_texts(texts: Sequence[Any], labels: Sequence[Any]) -> Table:
    """Texts, or pairs of texts, and a label for each, as a table with the columns text, label and second."""
    if isinstance(texts, str) or isinstance(labels, str):
        raise InputError("texts and labels must be lists: one label for each text.")
    texts, labels = list(texts), list(labels)
    if len(texts) != len(labels):
        raise InputError(f"There are {len(texts)} texts and {len(labels)} labels: give one label for each text.")
    pairs = any(isinstance(text, tuple) for text in texts)
    if wrong := next((n for n, t in enumerate(texts, 1) if pairs and (not isinstance(t, tuple) or len(t) != 2)), None):
        raise InputError(f"Text {wrong} of {len(texts)} is no pair of texts, and others are: give (text, second).")
    columns: dict[str, list[Any]] = {"text": [text[0] for text in texts] if pairs else texts, "label": labels}
    if pairs:
        columns["second"] = [text[1] for text in texts]
    return Table("the list of texts", STEM, columns, len(texts), f"{len(texts)} texts given in Python")


def _columns(data: Any) -> dict[str, Any] | None:
    """The columns by name, or None where it is nothing of the kind."""
    made = next((make for holds, make in KINDS if holds(data)), None)
    return None if made is None else made(data)


def _is_dataset(data: Any) -> bool:
    return hasattr(data, "features") and hasattr(data, "with_format")


def _is_list_of_rows(data: Any) -> bool:
    return isinstance(data, list | tuple) and bool(data) and all(isinstance(row, Mapping) for row in data)


def _of_rows(rows: Sequence[Mapping[Any, object]]) -> dict[str, Any]:
    return columns_of_objects([{str(name): value for name, value in row.items()} for row in rows])


def _of_mapping(data: Mapping[Any, Any]) -> dict[str, Any]:
    """Columns by name; or Datasets by split."""
    if data and all(map(_is_dataset, data.values())):
        return _of_splits(data)
    return {str(name): list(values) for name, values in data.items()}


def _of_pandas(frame: Any) -> dict[str, Any]:
    _refuse_twice([str(name) for name in frame.columns])
    return {str(name): frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame.columns}


def _of_arrow(data: Any) -> dict[str, Any]:
    import pyarrow as pa

    table = pa.table(data)
    _refuse_twice(table.column_names)
    return {name: table[name] for name in table.column_names}


def _of_dataset(dataset: Any) -> dict[str, Any]:
    """A Dataset's columns; numbers that stand for names become the names."""
    columns = {name: list(dataset[name]) for name in dataset.column_names}
    for name, feature in dataset.features.items():
        if hasattr(feature, "int2str"):
            columns[name] = [None if n is None or n < 0 else feature.int2str(n) for n in columns[name]]
    return columns


def _of_splits(splits: Mapping[str, Any]) -> dict[str, Any]:
    """A dictionary of Datasets: its keys say which split a row belongs to."""
    rows = [
        {**dict(zip(columns, values, strict=True)), "split": name}
        for name, dataset in splits.items()
        for columns in [_of_dataset(dataset)]
        for values in zip(*columns.values(), strict=True)
    ]
    return columns_of_objects(rows)


def _refuse_twice(names: Sequence[str]) -> None:
    if twice := next((name for name, count in Counter(names).items() if count > 1), None):
        raise InputError(f"data has the column {twice!r} twice: rename one.")


#: How each kind is known, and read; the first that holds is taken.
KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any], dict[str, Any]]], ...] = (
    (_is_dataset, _of_dataset),
    (lambda data: isinstance(data, Mapping), _of_mapping),
    (lambda data: hasattr(data, "isna") and hasattr(data, "columns"), _of_pandas),
    (lambda data: hasattr(data, "__arrow_c_stream__"), _of_arrow),
    (_is_list_of_rows, _of_rows),
)

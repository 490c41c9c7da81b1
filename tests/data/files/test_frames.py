"""Rows that a Python program holds give the corpus that the same rows in a file give."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest

from attentest.data.files.frames import table_of, table_of_texts
from attentest.data.files.to_corpus import corpus_from_files
from attentest.errors import InputError

ROWS: list[dict[str, Any]] = [
    {"text": f"Film {i} isn't {('bad', 'good')[i % 2]}", "label": ("neg", "pos")[i % 2]} for i in range(40)
]
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}


class Names:
    """As a feature of the datasets library."""

    names = ("neg", "pos")

    def int2str(self, number: int) -> str:
        return self.names[number]


class Dataset:
    """What is needed here of one of the datasets library, which need not be installed."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self.features: dict[str, object] = {"text": object(), "label": Names()}
        self.column_names = ["text", "label"]

    def with_format(self, kind: str) -> Dataset:
        raise NotImplementedError

    def __getitem__(self, name: str) -> list[Any]:
        values = [row[name] for row in self.rows]
        return values if name == "text" else [Names.names.index(value) for value in values]


def frames() -> dict[str, Any]:
    frame = pandas.DataFrame(ROWS)
    return {
        "pandas": frame,
        "categories": frame.astype({"label": "category"}),
        "arrow strings": frame.convert_dtypes(dtype_backend="pyarrow"),
        "arrow": pa.Table.from_pylist(ROWS),
        "rows": ROWS,
        "columns": COLUMNS,
        "arrays": {name: np.array(values) for name, values in COLUMNS.items()},
        "dataset": Dataset(ROWS),
        "texts": table_of_texts(COLUMNS["text"], COLUMNS["label"]),
    }


@pytest.mark.parametrize("kind", frames())
def test_every_kind_gives_the_corpus_of_the_file(tmp_path: Path, kind: str) -> None:
    with (tmp_path / "data.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["text", "label"])
        writer.writeheader()
        writer.writerows(ROWS)
    found = corpus_from_files(frames()[kind])
    assert found.digest == corpus_from_files(tmp_path / "data.csv").digest
    assert found.classes == ("neg", "pos")
    assert "in Python" in found.provenance.source


def test_polars_is_read_through_arrow() -> None:
    polars = pytest.importorskip("polars")
    assert corpus_from_files(polars.DataFrame(ROWS)).digest == corpus_from_files(ROWS).digest


def test_the_datasets_library_is_read() -> None:
    datasets = pytest.importorskip("datasets")
    assert corpus_from_files(datasets.Dataset.from_list(ROWS)).digest == corpus_from_files(ROWS).digest


def test_datasets_by_split_keep_their_splits() -> None:
    corpus = corpus_from_files(
        {"train": Dataset(ROWS[:30]), "validation": Dataset(ROWS[30:34]), "test": Dataset(ROWS[34:])}
    )
    assert {name: len(split) for name, split in corpus.splits.items()} == {"train": 30, "dev": 4, "test": 6}


def test_a_value_that_is_missing_is_counted() -> None:
    frame = pandas.DataFrame([*ROWS, {"text": None, "label": "pos"}, {"text": "x", "label": float("nan")}])
    assert corpus_from_files(frame).provenance.left_out == (
        "1 row left out: empty text (row 41)",
        "1 row left out: missing label (row 42)",
    )
    numbers = pandas.DataFrame({"text": COLUMNS["text"], "label": pandas.array([0, 1] * 19 + [pandas.NA, 1], "Int64")})
    corpus = corpus_from_files(numbers)
    assert corpus.classes == ("0", "1")
    assert corpus.provenance.left_out == ("1 row left out: missing label (row 39)",)


def test_pairs_of_texts_in_lists() -> None:
    table = table_of_texts([(text, f"Is it {n}?") for n, text in enumerate(COLUMNS["text"])], COLUMNS["label"])
    corpus = corpus_from_files(table, second_column="second")
    assert corpus.task == "pair"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (7, "data is of type int: give a path, a DataFrame"),
        (["a", "b"], "or texts and labels"),
        (pandas.DataFrame({"text": [], "label": []}), "The pandas DataFrame has no rows"),
        ({"text": ["a"], "label": []}, "column 'label' has 0 values, and the first 1"),
        (pandas.DataFrame([["a", "b", "c"]], columns=["text", "label", "text"]), "the column 'text' twice"),
    ],
)
def test_what_holds_no_rows_is_refused_in_one_line(data: Any, said: str) -> None:
    with pytest.raises(InputError, match=said) as raised:
        table_of(data)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("texts", "labels", "said"),
    [
        ("text", ["a"], "must be lists"),
        (["a", "b"], ["x"], "2 texts and 1 labels"),
        ([("a", "b"), "c"], ["x", "y"], "Text 2 of 2 is no pair"),
    ],
)
def test_texts_and_labels_that_do_not_fit_are_refused(texts: Any, labels: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        table_of_texts(texts, labels)

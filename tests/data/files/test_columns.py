from __future__ import annotations

import math
from pathlib import Path

import pytest

from attentest.data.files.columns import Columns, columns_of, texts_of
from attentest.data.files.formats import Table, made_table, read_table
from attentest.errors import InputError

PROSE = [f"a text, number {i}" for i in range(6)]
CLASSES = ["yes", "no"] * 3


def table_of(**columns: list[object]) -> Table:
    return made_table(Path("data.csv"), columns, 6)


@pytest.mark.parametrize(
    ("text", "label"),
    [("text", "label"), ("Sentence", "Class"), ("Review Text", "SENTIMENT"), ("tweet", "y"), ("body", "stars")],
)
def test_well_known_names_are_found_in_any_spelling(text: str, label: str) -> None:
    table = table_of(**{"date": PROSE, label: CLASSES, text: PROSE, "id": PROSE})
    assert columns_of(table) == Columns(text, label, id="id")


def test_split_and_rationale_columns_are_found() -> None:
    found = columns_of(table_of(text=PROSE, label=CLASSES, Split=CLASSES, rationale=CLASSES))
    assert (found.split, found.rationale) == ("Split", "rationale")


def test_text_and_label_win_over_other_well_known_names() -> None:
    assert columns_of(table_of(comment=PROSE, rating=CLASSES, text=PROSE, label=CLASSES)) == Columns("text", "label")


def test_named_columns_are_taken() -> None:
    table = table_of(text=PROSE, label=CLASSES, title=PROSE, kind=CLASSES, key=PROSE)
    found = columns_of(table, text="title", label="kind", second="text", id="key")
    assert found == Columns("title", "kind", second="text", id="key")


@pytest.mark.parametrize("order", [("foo", "bar"), ("bar", "foo")])
def test_two_columns_of_which_one_reads_like_text_are_told_apart(order: tuple[str, str]) -> None:
    values: dict[str, list[object]] = {"foo": list(PROSE), "bar": list(CLASSES)}
    assert columns_of(table_of(**{name: values[name] for name in order})) == Columns("foo", "bar")


def test_the_one_column_left_is_the_label() -> None:
    assert columns_of(table_of(text=PROSE, bar=[1, 2] * 3)) == Columns("text", "bar")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": PROSE, "b": PROSE}, "Which column of data.csv holds the text\\? It has: a, b. .* --text-column"),
        ({"a": CLASSES, "b": CLASSES}, "Which column of data.csv holds the text"),
        ({"text": PROSE}, "holds the label\\? It has: text. Name one .label_column"),
        ({"text": PROSE, "a": CLASSES, "b": CLASSES}, "holds the label\\? It has: text, a, b"),
        ({"review": PROSE, "comment": PROSE, "label": CLASSES}, "holds the text"),
        ({"a great film": PROSE, "yes": CLASSES}, "first line of data.csv .* looks like a row"),
        ({"a great film": PROSE, "1": CLASSES}, "first line of data.csv .* looks like a row"),
    ],
)
def test_what_is_not_obvious_is_asked_for(columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        columns_of(table_of(**columns))


@pytest.mark.parametrize("role", ["text", "label", "second", "id"])
def test_a_named_column_that_is_missing_is_refused(role: str) -> None:
    message = rf"data.csv has no column 'nope' \({role}_column, --{role}-column\). It has: text, label."
    with pytest.raises(InputError, match=message):
        columns_of(table_of(text=PROSE, label=CLASSES), **{role: "nope"})


def test_a_column_cannot_be_two_things() -> None:
    with pytest.raises(InputError, match="column 'text' is named for two purposes"):
        columns_of(table_of(text=PROSE, label=CLASSES), text="text", second="text")


def test_many_columns_are_listed_in_part() -> None:
    with pytest.raises(InputError, match="c18, c19, …"):
        columns_of(table_of(**{f"c{i}": PROSE for i in range(30)}))


def test_cells_become_text_and_gaps_none() -> None:
    cells = ["a", 1, 2.5, True, None, math.nan, "nul\0", "\ud800x"]
    assert texts_of(table_of(x=cells), "x") == ["a", "1", "2.5", "True", None, None, "nul", "?x"]


@pytest.mark.parametrize("cell", [["a"], {"a": 1}, b"a"])
def test_a_cell_that_is_no_text_is_named(cell: object) -> None:
    with pytest.raises(InputError, match=r"data.csv, row 2: column 'x' holds a .*, not a text"):
        texts_of(table_of(x=["a", cell]), "x")


def test_long_names_of_columns_are_cut_in_messages(tmp_path):
    (tmp_path / "a.csv").write_text(",".join("n" * 5000 + str(i) for i in range(20)) + "\n1\n")
    with pytest.raises(InputError) as caught:
        columns_of(read_table(tmp_path / "a.csv"), text="x")
    assert len(str(caught.value)) < 1100

from __future__ import annotations

from pathlib import Path

import pytest

from attentest.data.files.columns import Columns
from attentest.data.files.formats import Table, made_table
from attentest.data.files.rows import Preparation
from attentest.errors import InputError

COLUMNS = Columns("text", "label")
WORDS = Preparation("whitespace", lowercase=True, max_tokens=3)


def table_of(**columns: list[object]) -> Table:
    return made_table(Path("data.csv"), columns, len(next(iter(columns.values()))))


def test_ids_are_the_file_s_name_and_the_row_s_number() -> None:
    rows = WORDS.rows(table_of(text=["A b", "", "c"], label=[1, 2, 3]), COLUMNS)
    assert rows.ids == ["data-1", "data-3"]
    assert rows.numbers == [1, 3]
    assert rows.tokens == [["a", "b"], ["c"]]
    assert rows.labels == ["1", "3"]


def test_every_row_left_out_is_counted_once_and_named() -> None:
    texts = ["ok", "", None, "a b c d", " \n", "one", "two", "a b c d e f g"]
    labels = ["x", "x", "", "x", "x", None, " ", "x"]
    assert WORDS.rows(table_of(text=texts, label=labels), COLUMNS).left_out == [
        "3 rows left out: empty text (rows 2, 3, 5)",
        "2 rows left out: missing label (rows 6, 7)",
        "2 rows left out: up to 7 tokens, more than --max-tokens 3 (rows 4, 8)",
    ]


def test_one_row_is_named_in_the_singular() -> None:
    rows = WORDS.rows(table_of(text=["a", "a b c d"], label=["x", "y"]), COLUMNS)
    assert rows.left_out == ["1 row left out: 4 tokens, more than --max-tokens 3 (row 2)"]


def test_long_texts_are_cut_on_request_and_counted() -> None:
    cut = Preparation("whitespace", max_tokens=2, truncate=3)
    marks: list[object] = [[0, 1], [1, 0, 0, 1, 1], [0]]
    table = table_of(
        text=["a b", "a b c d e", "a"], other=["q", "q r s t", "q"], label=["x", "y", "x"], rationale=marks
    )
    rows = cut.rows(table, Columns("text", "label", second="other", rationale="rationale"))
    assert rows.tokens == [["a", "b"], ["a", "b", "c"], ["a"]]
    assert rows.second == [["q"], ["q", "r", "s"], ["q"]]
    assert rows.rationale == [[False, True], [True, False, False], [False]]
    assert rows.left_out == []
    assert rows.notes == ["1 of 3 texts cut to their first 3 tokens (the longest had 5)"]
    assert str(cut) == "whitespace tokens, lower case, cut after 3"
    with pytest.raises(InputError, match="truncate=0 must be at least 1"):
        Preparation(truncate=0)


def test_at_most_five_rows_are_named() -> None:
    rows = WORDS.rows(table_of(text=["a"] + [""] * 6, label=["x"] * 7), COLUMNS)
    assert rows.left_out == ["6 rows left out: empty text (rows 2, 3, 4, 5, 6, …)"]


def test_a_row_lacks_a_second_text_or_has_a_long_one() -> None:
    table = table_of(text=["a"] * 3, other=["b", "", "a b c d"], label=["x"] * 3)
    rows = WORDS.rows(table, Columns("text", "label", second="other"))
    assert rows.second == [["b"]]
    assert [line.split(": ")[1].split(" (")[0] for line in rows.left_out] == [
        "empty second text",
        "4 tokens, more than --max-tokens 3",
    ]


def test_a_file_without_any_usable_row_is_refused() -> None:
    with pytest.raises(InputError, match=r"No row of data.csv can be used: 2 rows left out: empty text"):
        WORDS.rows(table_of(text=["", " "], label=["x", "y"]), COLUMNS)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "b", "a"], "rows 1 and 3 have the same id 'a' in column 'key'"),
        (["a", None, "b"], "row 2 has no id in column 'key'"),
    ],
)
def test_ids_must_be_there_and_differ(ids: list[object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        WORDS.rows(table_of(text=["a"] * 3, label=["x"] * 3, key=ids), Columns("text", "label", id="key"))


WITH_RATIONALE = Columns("text", "label", rationale="rationale")


def test_a_rationale_of_whitespace_tokens_is_kept() -> None:
    table = table_of(text=["a good one", "", "bad"], label=[1, 1, 0], rationale=[[0, 1, 0], None, [True]])
    assert WORDS.rows(table, WITH_RATIONALE).rationale == [[False, True, False], [True]]


@pytest.mark.parametrize("rationale", [["because", "so"], [[0], None]])
def test_a_column_of_that_name_that_holds_no_lists_is_left_out(rationale: list[object]) -> None:
    rows = WORDS.rows(table_of(text=["a", "b"], label=[1, 0], rationale=rationale), WITH_RATIONALE)
    assert rows.rationale is None
    assert rows.left_out == ["column 'rationale' left out: it needs --tokenizer whitespace and lists of 0/1"]


def test_another_tokenizer_leaves_the_rationale_out() -> None:
    rows = Preparation("english").rows(table_of(text=["a"], label=[1], rationale=[[0]]), WITH_RATIONALE)
    assert rows.rationale is None
    assert len(rows.left_out) == 1


@pytest.mark.parametrize("flags", [[0], [0, 2], [0, "1"], [0, 1, 1]])
def test_a_rationale_that_does_not_fit_its_text_is_refused(flags: list[object]) -> None:
    with pytest.raises(InputError, match=r"data.csv, row 1: column 'rationale' must hold one 0 or 1 for each"):
        WORDS.rows(table_of(text=["two words"], label=[1], rationale=[flags]), WITH_RATIONALE)

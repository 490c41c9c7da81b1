from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.data.files.delimited import records
from attentest.errors import InputError

# What csv.writer writes back unchanged: no NUL, and no lone carriage return, which it does not quote.
fields = st.text(st.characters(blacklist_characters="\0\r", blacklist_categories=["Cs"]), max_size=30)


@settings(deadline=None)
@given(st.lists(st.tuples(fields, fields, fields), min_size=1, max_size=6), st.sampled_from(",;\t|"), st.booleans())
def test_odd_text_survives_a_round_trip(rows: list[tuple[str, str, str]], mark: str, crlf: bool) -> None:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=mark, lineterminator="\r\n" if crlf else "\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["text", "label", "note"])
    writer.writerows(rows)
    header, found = records("odd.csv", out.getvalue(), ",;\t|")
    assert header == ["text", "label", "note"]
    assert found == [list(row) for row in rows]


@pytest.mark.parametrize("mark", list(",;\t|"))
def test_the_delimiter_is_found_in_the_header(mark: str) -> None:
    header, rows = records("a.csv", f"text{mark}label\nnone other{mark}1\n", ",;\t|")
    assert (header, rows) == (["text", "label"], [["none other", "1"]])


def test_a_comma_in_a_text_does_not_outvote_the_header() -> None:
    assert records("a.csv", "text;label\na, b, c, d;1\n", ",;\t|")[1] == [["a, b, c, d", "1"]]


def test_old_and_foreign_line_ends_are_line_ends() -> None:
    for end in ("\n", "\r\n", "\r"):
        assert records("a.csv", end.join(["text,label", "a,1", "b,2", ""]), ",;")[1] == [["a", "1"], ["b", "2"]]


def test_plain_quotation_marks_in_a_tab_separated_file_are_text() -> None:
    text = 'text\tlabel\n"Great" film\t1\nthe "best\t0\n"whole"\t1\n'
    assert records("a.tsv", text, "\t,") == (
        ["text", "label"],
        [['"Great" film', "1"], ['the "best', "0"], ["whole", "1"]],
    )


def test_short_rows_are_left_short_and_empty_extra_fields_dropped() -> None:
    assert records("a.csv", "text,label\nalone\na,1,,\n\n", ",")[1] == [["alone"], ["a", "1"]]


def test_a_row_with_too_many_fields_is_named_by_its_line() -> None:
    text = 'text,label\n"two\nlines",1\na,b,c\n'
    with pytest.raises(InputError, match=r"a.csv, line 4 has 3 fields and the header 2"):
        records("a.csv", text, ",;")


@pytest.mark.parametrize("bad", ['"not closed,1\nb,2\n', '"closed" too early,1\n'])
def test_a_stray_quotation_mark_is_named_by_the_line_its_row_begins_on(bad: str) -> None:
    with pytest.raises(InputError, match="begins on line 3 has a quotation mark"):
        records("a.csv", f"text,label\na,1\n{bad}", ",;")


def test_very_long_fields_are_read_and_the_limit_is_put_back() -> None:
    before = csv.field_size_limit()
    assert len(records("a.csv", f"text,label\n{'x' * 300_000},1\n", ",")[1][0][0]) == 300_000
    assert csv.field_size_limit() == before

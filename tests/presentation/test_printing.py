"""What is printed holds nothing that a terminal obeys, whoever wrote it; JSON holds the same values."""

from __future__ import annotations

import ast
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table
from rich.text import Text

from attentest.printing import Printer, echo, echo_json, json_text, visible

SOURCE = Path(__file__).parents[2] / "src" / "attentest"
HOSTILE = "\x1b]0;evil\x07\x1b[31mred\x9b2J\x08\r\u202eabc\u2066\x7f\ud800 \x1b[8mhidden"
#: What a terminal obeys: all controls but the line break, those of the second kind, what turns text round.
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
#: The colours that Rich itself writes.
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def printed(thing: Any, **how: Any) -> str:
    file = io.StringIO()
    Printer(file=file, force_terminal=True, width=60, **how).print(thing)
    return COLOURS.sub("", file.getvalue())


@given(st.text(st.characters(codec=None), max_size=40))
def test_no_text_reaches_a_terminal_raw(text: str) -> None:
    table = Table(title=Text(text), caption=Text(text))
    table.add_column(Text(text))
    table.add_row(Text.assemble((text, "bold"), ("b", "red")))
    for thing in (Text(text), Text(text, "red"), table, Text(f"line\n{text}")):
        assert not OBEYED.search(printed(thing).replace("\n", ""))


def test_what_was_hidden_is_spelled_out_and_styles_stay() -> None:
    shown = printed(Text.assemble(("a\x1bb", "bold"), "c\u202ed"))
    assert "a‹U+001B›bc‹U+202E›d" in shown
    assert "line\n" in printed(Text("line\nnext"))
    file = io.StringIO()
    Printer(file=file, force_terminal=True, color_system="standard").print(Text.assemble(("a\x1bb", "red"), "c"))
    assert "\x1b[31m" in file.getvalue()


def test_a_table_keeps_its_edges() -> None:
    table = Table()
    table.add_column("name")
    table.add_row(Text(HOSTILE))
    table.add_row(Text("plain"))
    lines = printed(table).splitlines()
    assert len({len(line) for line in lines}) == 1


def test_lines_and_errors_are_made_visible(capsys: pytest.CaptureFixture[str]) -> None:
    echo(f"one\n{HOSTILE}")
    echo(HOSTILE, err=True)
    for said in capsys.readouterr():
        assert not OBEYED.search(said)
        assert "‹U+001B›[31mred" in said


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters(codec=None)),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(codec=None)), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_json_is_the_same_value_with_nothing_to_obey(value: Any) -> None:
    text = json_text(value)
    assert not OBEYED.search(text.replace("\n", ""))
    kept = json.loads(json.dumps(value, default=str)) if "Infinity" not in json.dumps(value) else None
    if kept is not None:
        assert json.loads(text) == kept


def test_json_has_no_numbers_that_do_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    echo_json({"a": [float("nan"), np.float64("inf"), np.array([1.0, np.nan])], "b": np.int64(3)})
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail) == {"a": [None, None, [1.0, None]], "b": 3}


def test_visible_is_what_it_was() -> None:
    assert visible("a\tb\n") == "a⇥b↵"
    assert visible("abcdef", 4) == "abc…"
    assert visible("👩‍👩‍👧") == "👩‍👩‍👧"


#: Programs of a paper or a study that print a table of their own numbers.
OWN = {"calibration/edit_study.py"}


def test_everything_is_printed_in_one_place() -> None:
    """No console, no print, no typer.echo but those of printing."""
    found = set()
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "print",
                "typer.echo",
                "Console",
                "click.echo",
            ):
                found.add(name)
    assert found - OWN == {"printing/screen.py"}

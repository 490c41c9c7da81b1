from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.made_up_verdict import made_up_verdict
from tests.report.rendered import render

from attentest.presentation.text import interval_of, reasons, value_of, visible, visible_token
from attentest.report.tables.measures import measures_table
from attentest.report.tables.verdict import verdict_summary, verdict_table
from attentest.store.folder import RunFolder
from attentest.store.summary import Estimate


@pytest.mark.slow
def test_no_line_is_wider_than_the_terminal(run: RunFolder, hostile_run: RunFolder) -> None:
    for what in (verdict_summary(made_up_verdict()), measures_table(run), measures_table(hostile_run)):
        for width in (80, 100, 160):
            assert max(map(len, render(what, width=width).splitlines())) <= width


def test_the_verdict_is_understood_without_colours() -> None:
    text = render(verdict_summary(made_up_verdict()), width=100)
    for words in ("✗ speaks against it", "~ mixed", "✓ speaks for it", "· for context", "✗ no", "? cannot say"):
        assert words in text
    assert "\x1b" not in text


def test_numbers_below_zero_have_a_minus_sign_and_zero_has_none() -> None:
    found = Estimate(-0.0312, -0.05, -0.0001, 0.1, 50, 0, "")
    assert (value_of(found, "mean"), interval_of(found, "mean")) == ("−0.031", "[−0.050, 0.000]")
    assert interval_of(found, "fraction") == "[−5.0, 0.0]"


def test_the_verdict_table_has_a_row_for_every_line() -> None:
    verdict = made_up_verdict()
    assert verdict_table(verdict).row_count == len(verdict.lines)


@pytest.mark.slow
def test_the_measures_table_names_every_measure_its_interval_and_the_rows_not_judged(run: RunFolder) -> None:
    text = render(measures_table(run), width=200)
    for challenge in run.challenges:
        assert challenge.replace("_", " ").upper() in text
        for measure in run.findings(challenge).measures:
            assert measure.words in text
    assert "not judged: only one token" in text
    assert "negative 0." in text


@pytest.mark.slow
def test_of_many_classes_only_the_lowest_and_the_highest_are_listed(many_run: RunFolder) -> None:
    block = render(measures_table(many_run), width=200).split("AGREEMENT")[0]
    assert block.count("class name") == 2


@pytest.mark.slow
def test_markup_and_escapes_in_strangers_names_are_shown_as_text(hostile_run: RunFolder) -> None:
    text = render(measures_table(hostile_run), width=200, colour=True)
    assert "[bold]" in text
    assert "\u202e" not in text
    assert "\x00" not in text


def test_reasons_count_the_rows_that_were_not_judged(run: RunFolder) -> None:
    found = run.findings("agreement")
    alone = reasons(found, {"pair": "attention~gradient"})["only one token"]
    assert reasons(found) == {"only one token": 6 * alone}


@pytest.mark.slow
@given(st.text(max_size=30))
def test_visible_text_can_be_written_anywhere_and_hides_nothing(text: str) -> None:
    shown = visible(text)
    shown.encode("utf-8")
    assert all(c.isprintable() or c in "\u200c\u200d" or c.isspace() for c in shown)
    assert not set(shown) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x1b\x00\n\r")


def test_tokens_without_a_visible_character_get_one() -> None:
    assert [visible_token(t) for t in ("", " ", "\n", "\t", "\ud800")] == ["∅", "␣", "↵", "⇥", "‹U+D800›"]


def test_a_long_token_is_cut_with_a_sign() -> None:
    assert visible_token("x" * 300, 10) == "x" * 9 + "…"

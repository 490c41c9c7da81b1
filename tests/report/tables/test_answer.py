"""The answer in the terminal: short whatever was found, and never without what speaks against attention."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.report.made_up_verdict import made_up_verdict

from attentest.presentation.calibrated import Share
from attentest.presentation.line import Line
from attentest.report.tables.answer import COLUMNS, LINES, answer
from attentest.report.tables.verdict import ANSWERS, TONES
from attentest.report.verdict.verdict import Goal, Verdict
from attentest.store.summary import Estimate

REPORT = Path("runs/reviews-0123456789/report.html")
README = Path(__file__).parents[3] / "README.md"
FOUND = Estimate(-0.1234, -0.2, 1.15, 0.1, 12_345, 0, "bootstrap 95 %")
SENTENCES = st.lists(st.text("abcdef ", min_size=1, max_size=300).map(lambda s: f"It {s.strip()}."), max_size=4)


def line(key: str, tone: str) -> Line:
    short = f"Does the question {key}?"
    return Line(key, "A longer question?", "", "", tone, FOUND, "states", short)  # type: ignore[arg-type]


def shown(verdict: Verdict) -> list[str]:
    return answer(verdict, REPORT).plain.splitlines()


LINES_OF_EVIDENCE = st.lists(st.sampled_from(sorted(TONES)), max_size=21).map(
    lambda tones: tuple(line(str(i), tone) for i, tone in enumerate(tones))
)
GOALS = st.lists(
    st.tuples(st.sampled_from(sorted(ANSWERS)), st.text("abc ", max_size=400), SENTENCES).map(
        lambda t: Goal("Say which words mattered", "r", t[0], f"Because {t[1].strip()}.", "", "Say it", tuple(t[2]))
    ),
    min_size=3,
    max_size=3,
)


@pytest.mark.slow
@given(LINES_OF_EVIDENCE, GOALS, st.text("abc ", min_size=1, max_size=150), SENTENCES)
def test_the_answer_is_short_and_keeps_what_speaks_against(
    lines: tuple[Line, ...], goals: list[Goal], headline: str, steps: list[str]
) -> None:
    verdict = Verdict(f"It {headline.strip()}.", lines, tuple(goals), "", (), next_steps=tuple(steps))
    told = shown(verdict)
    stays = [one for one in lines if one.decides]
    if len(stays) <= 12:  # more than there are
        assert len(told) <= LINES
    assert all(len(one) <= COLUMNS for one in told)
    assert told[-1] == f"Report  {REPORT}"
    for goal in goals:
        assert sum(one.startswith(f"{ANSWERS[goal.answer][0]} {goal.answer}") for one in told) >= 1
    for one in stays:
        assert any(row.startswith(f"{TONES[one.tone][0]} {one.short} ") for row in told)
    rows = [row for row in told if "Does the question" in row]
    assert all("−0.123 [−0.200, 1.150]" in row and row.endswith("12,345") for row in rows)
    hidden = next((int(found[1]) for row in told if (found := re.match(r"· and (\d+) more", row))), 0)
    assert len(rows) + hidden == len(lines)


def test_reasons_are_cut_before_what_decides() -> None:
    goals = tuple(replace(goal, why="Because of a reason that is long. " * 6) for goal in made_up_verdict().goals[:3])
    few = replace(made_up_verdict(), lines=tuple(line(str(i), "mixed") for i in range(4)), goals=goals)
    deciding = tuple(replace(line(str(i), "mixed"), decides="reason") for i in range(13))
    many = replace(few, lines=(*deciding, *(line(str(i), "against") for i in range(20, 25))))
    assert len(shown(few)) <= LINES
    assert len(shown(few)) - 4 > len(shown(many)) - 13
    assert sum("Does the question" in row for row in shown(many)) >= 13
    assert sum(row.endswith("…") for row in shown(many)) == 3


def test_of_tests_that_decide_nothing_those_against_attention_stay_longest() -> None:
    tones = ["supports"] * 12 + ["against"] * 4
    told = shown(replace(made_up_verdict(), lines=tuple(line(str(i), tone) for i, tone in enumerate(tones))))
    assert sum(row.startswith("✗ Does the question") for row in told) == 4
    assert len(told) <= LINES


def test_the_error_of_an_answer_stands_beside_it_and_what_was_not_calibrated_is_said() -> None:
    goals = tuple(replace(goal, wrong=Share(2, 100, 0.0, 0.06)) for goal in made_up_verdict().goals[:3])
    lines = (replace(line("1", "supports"), decides="reason", auroc=(0.94, 0.9, 0.97)), line("2", "context"))
    told = shown(replace(made_up_verdict(), goals=goals, lines=lines, outside=("2,000 words a text",)))
    assert " ".join(" ".join(told).split()).count("(error 2 % [0, 6] of 100).") == 3
    assert any(row.rstrip().endswith("0.94") for row in told)
    assert "! Outside of what was calibrated: 2,000 words a text" in told


def test_the_readme_shows_such_an_answer() -> None:
    block = README.read_text().partition("<!-- verdict -->")[2].partition("<!-- /verdict -->")[0]
    told = block.split("```text\n")[1].split("```")[0].splitlines()
    assert len(told) <= LINES
    assert max(map(len, told)) <= COLUMNS
    marks = {symbol for symbol, _, _ in TONES.values()}
    evidence = [row for row in told if re.search(r"\[.*\] +[\d,]+( +[\d.]+)?$", row)]
    assert len(evidence) >= 8
    assert all(row[0] in marks and len(row[2:].split("  ")[0].split()) <= 5 for row in evidence)
    for answered in ("with care", "yes"):
        assert any(row.startswith(f"{ANSWERS[answered][0]} {answered}") for row in told)

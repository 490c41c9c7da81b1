"""What is required of a verdict, and when it is met."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.report.made_up_verdict import made_up_verdict

import attentest
from attentest.errors import AttentestError, InputError, UnknownName
from attentest.report.verdict.requirements import check, parse
from attentest.report.verdict.verdict import Goal, Verdict

ANSWERS = ("yes", "with care", "cannot say", "no")


def verdict(*answers: Any) -> Verdict:
    """One that gives these answers to the three uses."""
    goals = [
        Goal(f"goal {place}", "someone", answer, f"Because {place}.", key=key)
        for place, (key, answer) in enumerate(zip(("reason", "check", "one"), answers, strict=True))
    ]
    return replace(made_up_verdict(), goals=tuple(goals))


@pytest.mark.parametrize("key", ["reason", "check", "one"])
@pytest.mark.parametrize(("least", "enough"), [("yes", {"yes"}), ("with-care", {"yes", "with care"})])
def test_an_answer_at_least_as_good_meets_a_requirement(key: str, least: str, enough: set[str]) -> None:
    place = ("reason", "check", "one").index(key)
    for answer in ANSWERS:
        answers = ["no" if answer == "yes" else "yes"] * 3
        answers[place] = answer
        (found,) = check(verdict(*answers), parse([f"{key}={least}"]))
        assert found.met == (answer in enough)
        assert found.goal.goal == f"goal {place}"
        assert f"is {answer}. goal {place}: Because {place}." in found.line


def test_several_requirements_keep_their_order() -> None:
    found = check(verdict("with care", "yes", "no"), parse(["one=yes", "reason = with care", "check=WITH_CARE"]))
    assert [(one.requirement.key, one.met) for one in found] == [("one", False), ("reason", True), ("check", True)]
    assert found[0].to_record()["answer"] == "no"


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("reason", InputError, "'reason' must be KEY=ANSWER"),
        ("reasons=yes", UnknownName, "Did you mean 'reason'"),
        ("=yes", UnknownName, "Known: check, one, reason"),
        ("reason=no", InputError, "reason=no cannot be required: name the least answer that will do, yes or with-care"),
        ("reason=cannot say", InputError, "cannot be required"),
        ("reason=", InputError, "cannot be required"),
    ],
)
def test_a_bad_requirement_is_refused(text: str, error: type[AttentestError], said: str) -> None:
    with pytest.raises(error, match=said):
        parse([text])


def test_nothing_required_is_refused() -> None:
    with pytest.raises(InputError, match="Nothing is required"):
        parse([])


def test_require_passes_or_says_why() -> None:
    audit: Any = SimpleNamespace(verdict=verdict("with care", "yes", "cannot say"))
    attentest.require(audit, reason="with care", check="yes")
    with pytest.raises(AssertionError, match=r"(?s)worse than required.*one must be with care, is cannot say") as said:
        attentest.require(audit, reason="with care", one="with care")
    assert "reason" not in str(said.value)
    with pytest.raises(AssertionError, match="reason must be yes, is with care"):
        attentest.require(audit, reason="yes")
    with pytest.raises(InputError, match="Nothing is required"):
        attentest.require(audit)
    with pytest.raises(UnknownName, match="use of attention"):
        attentest.require(audit, words="yes")


def test_require_names_a_run_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="No run in"):
        attentest.require("latest", runs=tmp_path, reason="yes")

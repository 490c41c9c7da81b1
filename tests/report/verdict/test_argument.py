"""What counts in the verdict stands in one table, and nothing that should count is forgotten there."""

from __future__ import annotations

import pytest

from attentest.challenges import CHALLENGES, PRESENTATIONS
from attentest.report.verdict.argument import ARGUMENT, DECIDING, KEYS, place_of
from attentest.tasks import DEFAULT, STEPS


def test_every_challenge_with_a_line_has_a_part_in_the_argument() -> None:
    own = {name for name in PRESENTATIONS if PRESENTATIONS.is_own(name) and PRESENTATIONS[name].lines}
    assert own == {part.challenge for part in ARGUMENT}, "give its lines a Part in report/verdict/argument.py"
    assert own <= set(CHALLENGES)


def test_every_use_is_decided_by_one_line() -> None:
    assert tuple(part.decides for part in ARGUMENT if part.decides) == KEYS
    assert DECIDING == ("importance",)
    assert set(DECIDING) <= set(DEFAULT)
    assert place_of("uniform") < place_of("gradient") < place_of("a line of another package")


def test_a_bound_says_why_in_the_words_of_a_run() -> None:
    told = [bound.said(STEPS) for part in ARGUMENT for bound in part.bounds]
    assert told
    assert not any("{" in why for why in told)


@pytest.mark.parametrize("part", ARGUMENT, ids=lambda part: part.key)
def test_a_part_stands_once(part) -> None:
    assert sum(other.key == part.key for other in ARGUMENT) == 1

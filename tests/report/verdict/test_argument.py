"""What counts in the verdict stands in one table, and nothing that should count is forgotten there."""

from __future__ import annotations

import pytest

from attentest.challenges import CHALLENGES, PRESENTATIONS
from attentest.report.verdict.argument import ARGUMENT, DECIDING, DEPENDENCE, place_of
from attentest.report.verdict.weighing import cautions
from attentest.tasks import STEPS


def test_every_challenge_with_a_line_has_a_part_in_the_argument() -> None:
    own = {name for name in PRESENTATIONS if PRESENTATIONS.is_own(name) and PRESENTATIONS[name].lines}
    assert own == {part.challenge for part in ARGUMENT}, "give its lines a Part in report/verdict/argument.py"
    assert own <= set(CHALLENGES)


def test_what_is_derived_from_the_argument() -> None:
    assert DEPENDENCE == ("uniform", "permutation")
    assert DECIDING == (("uniform", "permutation"), ("agreement",))
    assert place_of("uniform") < place_of("gradient") < place_of("a line of another package")


def test_a_part_that_helps_to_answer_says_why_it_speaks_against() -> None:
    for part in ARGUMENT:
        assert bool(part.bounds) == bool(part.why)
        if part.answers in ("depends", "agrees"):
            assert part.bounds, part.key
    said = [caution.why for caution in cautions(STEPS)]
    assert not any("{" in why for why in said)
    assert "It finds the words that tell what to write no better than a random order." in said


@pytest.mark.parametrize("part", ARGUMENT, ids=lambda part: part.key)
def test_a_part_stands_once(part) -> None:
    assert sum(other.key == part.key for other in ARGUMENT) == 1

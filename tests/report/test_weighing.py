"""The table of report/weighing.py, pattern by pattern: what each test may lower, and what it may not."""

from __future__ import annotations

import pytest

from attentest.report.judge import _check, _one_reason, _reason
from attentest.report.verdict import Goal, Line
from attentest.report.weighing import bounded, cautions, remarks, remarks_by_tone, weigh
from attentest.store.summary import Estimate

#: A run in which everything that was always asked speaks for attention.
GOOD = {"uniform": "supports", "permutation": "supports", "states": "supports", "stands": "supports"}
GOOD |= {"gradient": "supports", "deletion": "supports", "adversary": "supports"}


def lines(**tones: str) -> tuple[Line, ...]:
    ratio = {"supports": (0.2, 0.3), "mixed": (0.6, 0.7), "against": (0.95, 0.97)}
    made = []
    for key, tone in tones.items():
        low, high = ratio.get(tone, (0.4, 0.6))
        found = Estimate((low + high) / 2, low, high, 0.1, 100, 0, "")
        made.append(Line(key, "?", "", "", tone, found, "states"))  # type: ignore[arg-type]
    return tuple(made)


def goals(**tones: str) -> tuple[str, str, str]:
    asked = lines(**tones)
    weighed = weigh(asked)
    reason = bounded(_reason(weighed), "reason", asked)
    check = bounded(_check(weighed), "check", asked)
    return reason.answer, check.answer, bounded(_one_reason(weighed, reason, asked), "one", asked).answer


@pytest.mark.parametrize(
    ("tones", "answers"),
    [
        ({}, ("yes", "yes", "with care")),
        # What the four tests say for attention raises nothing.
        (dict.fromkeys(("needed", "luck", "carries", "unique"), "supports"), ("yes", "yes", "with care")),
        ({"uniform": "against", "permutation": "against", "needed": "supports"}, ("no", "no", "no")),
        ({"stands": "mixed", "carries": "supports"}, ("with care", "yes", "no")),
        # Not needed: no explanation is owed, but this model may lean on it, and its builder may look.
        ({"needed": "against"}, ("with care", "yes", "no")),
        ({"needed": "mixed"}, ("yes", "yes", "with care")),
        ({"needed": "unsettled"}, ("yes", "yes", "with care")),
        ({"needed": "against", "stands": "against"}, ("no", "yes", "no")),
        # Luck: true of this training, so not the one reason.
        ({"luck": "against"}, ("yes", "yes", "no")),
        ({"luck": "mixed"}, ("yes", "yes", "with care")),
        # A guide that helps nobody lowers what stands for a word, as deletion does; it cannot break it alone.
        ({"carries": "against"}, ("with care", "yes", "no")),
        ({"carries": "context"}, ("yes", "yes", "with care")),
        # A bad order lowers the ranking by one step and never breaks it.
        ({"order": "against"}, ("with care", "with care", "no")),
        ({"order": "against", "states": "mixed"}, ("with care", "with care", "no")),
        ({"order": "context"}, ("yes", "yes", "with care")),
        # A trained rival decides what is the only one; weights for single texts count where none was trained.
        ({"adversary": "against"}, ("yes", "yes", "no")),
        ({"adversary": "against", "unique": "supports"}, ("yes", "yes", "with care")),
        ({"adversary": "against", "unique": "unsettled"}, ("yes", "yes", "no")),
        ({"adversary": "against", "unique": "context"}, ("yes", "yes", "no")),
        ({"adversary": "supports", "unique": "against"}, ("yes", "yes", "no")),
        ({"adversary": "supports", "unique": "mixed"}, ("yes", "yes", "no")),
        # None of them answers what was not asked.
        ({"stands": "unsettled", "needed": "against"}, ("cannot say", "yes", "no")),
        ({"stands": "unsettled", "luck": "against"}, ("cannot say", "yes", "no")),
    ],
)
def test_each_pattern_of_tones_has_its_answers(tones: dict[str, str], answers: tuple[str, str, str]) -> None:
    assert goals(**(GOOD | tones)) == answers


def test_no_single_one_of_the_new_tests_turns_the_headline_to_no() -> None:
    for key in ("needed", "luck", "carries", "unique", "order"):
        assert goals(**GOOD, **{key: "against"})[0] != "no"


def test_a_caution_brings_its_words() -> None:
    yes = Goal("g", "r", "yes", "Because.")
    cautioned = {caution.line for caution in cautions()}
    for caution in cautions():
        found = bounded(yes, caution.goal, lines(**{caution.line: "against"}))
        assert found.answer == caution.best
        assert caution.why in found.why
        for tone in ("supports", "mixed", "unsettled", "context"):
            assert bounded(yes, caution.goal, lines(**{caution.line: tone})) == yes
    assert cautioned == {"needed", "luck"}


def test_single_texts_decide_where_trained_rivals_settle_nothing_and_say_so() -> None:
    for tone, answer in (("unsettled", "no"), ("against", "no"), ("supports", "with care")):
        found = lines(**GOOD | {"adversary": "against", "unique": tone})
        weighed = weigh(found)
        goal = _one_reason(weighed, _reason(weighed), found)
        assert goal.answer == answer
        assert goal.why.startswith("Models trained to attend elsewhere settled nothing") == (tone == "unsettled")


def test_a_no_stays_a_no_with_its_own_reason() -> None:
    no = Goal("g", "r", "no", "Because.")
    assert bounded(no, "one", lines(needed="against", luck="against")) == no


def test_the_closing_says_each_test_and_where_they_part() -> None:
    for key, words in remarks_by_tone().items():
        for tone, sentence in words.items():
            asked = lines(**{key: tone})
            assert list(remarks(asked, weigh(asked))) == [sentence]
    leaning = lines(uniform="supports", needed="against")
    assert any("leans on its attention all the same" in words for words in remarks(leaning, weigh(leaning)))
    alone = lines(adversary="against", unique="supports")
    assert any("no trained model has them" in words for words in remarks(alone, weigh(alone)))
    assert list(remarks(lines(luck="unsettled"), weigh(()))) == []

"""The table of report/weighing.py, pattern by pattern: what each test may lower, and what it may not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attentest.presentation.line import Line
from attentest.report.verdict.judge import goals_of, headline_of, the_one_reason, words_that_mattered
from attentest.report.verdict.verdict import Goal
from attentest.report.verdict.weighing import bounded, cautions, nothing_to_explain, remarks, remarks_by_tone, weigh
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
    reason, check, one = goals_of(lines(**tones))
    return reason.answer, check.answer, one.answer


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
        # Dependence needs one of its two lines, but a line that speaks against it is not passed over.
        ({"uniform": "against"}, ("with care", "with care", "no")),
        ({"permutation": "against"}, ("with care", "with care", "no")),
        ({"uniform": "unsettled"}, ("yes", "yes", "with care")),
        # Other views of the words: one against lowers, all against break, whatever states stand for.
        ({"deletion": "against"}, ("with care", "yes", "no")),
        ({"gradient": "against", "deletion": "against"}, ("no", "yes", "no")),
        # A model no better than the most frequent class has nothing to explain; what is refused stays refused.
        ({"accuracy": "against"}, ("cannot say", "cannot say", "cannot say")),
        ({"accuracy": "unsettled"}, ("cannot say", "cannot say", "cannot say")),
        ({"accuracy": "unsettled", "stands": "against"}, ("no", "cannot say", "no")),
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
    for caution in cautions():
        found = bounded(yes, caution.goal, lines(**{caution.line: caution.tone}))
        assert found.answer == caution.best
        assert caution.why in found.words
        spoken = {other.tone for other in cautions() if (other.line, other.goal) == (caution.line, caution.goal)}
        for tone in {"supports", "mixed", "unsettled", "context", "against"} - spoken:
            assert bounded(yes, caution.goal, lines(**{caution.line: tone})) == yes


def test_single_texts_decide_where_trained_rivals_settle_nothing_and_say_so() -> None:
    for tone, answer in (("unsettled", "no"), ("against", "no"), ("supports", "with care")):
        found = lines(**GOOD | {"adversary": "against", "unique": tone})
        weighed = weigh(found)
        goal = the_one_reason(weighed, words_that_mattered(weighed), found)
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
    assert any("still relies on its attention" in words for words in remarks(leaning, weigh(leaning)))
    alone = lines(adversary="against", unique="supports")
    assert any("no trained model has them" in words for words in remarks(alone, weigh(alone)))
    assert list(remarks(lines(luck="unsettled"), weigh(()))) == []


#: What each answer rests on: a line here that speaks against it may not stand beside a "yes".
DEPENDING = ("uniform", "permutation", "states", "order")
VIEWS = ("gradient", "deletion", "saliency", "rationale", "carries")
RESTS = {
    0: (*DEPENDING, "stands", *VIEWS, "needed"),
    1: DEPENDING,
    2: (*DEPENDING, "stands", *VIEWS, "needed", "luck", "adversary"),
}
EVERY = ("accuracy", *dict.fromkeys(key for keys in RESTS.values() for key in keys), "unique")
TONES = st.sampled_from(("supports", "mixed", "against", "unsettled", "context", "void", None))
COMBINATIONS = st.fixed_dictionaries(dict.fromkeys(EVERY, TONES)).map(lambda d: {k: t for k, t in d.items() if t})
BEST_FIRST = ("yes", "with care", "cannot say", "no")


@given(COMBINATIONS)
def test_no_answer_contradicts_a_line_it_rests_on(tones: dict[str, str]) -> None:
    found = goals_of(lines(**tones))
    for number, goal in enumerate(found):
        against = [key for key in RESTS[number] if tones.get(key) == "against"]
        if number == 2 and tones.get("unique") == "supports":
            against = [key for key in against if key != "adversary"]  # a trained rival decides in its place
        assert not (against and goal.answer == "yes")
        if goal.answer == "with care" and number < 2:
            named = [c.why for c in cautions() if c.line in against and c.tone == "against" and c.goal == "reason"]
            assert all(why in goal.words for why in named)
        if number == 2:
            assert goal.answer != "yes"
            assert not (against and goal.answer == "with care")
    for number, keys in ((0, ("states", "stands")), (1, ("states",))):
        if any(tones.get(key) == "against" for key in keys):
            assert found[number].answer == "no"
    if {tones.get("uniform"), tones.get("permutation")} == {"against"}:
        assert {goal.answer for goal in found} == {"no"}


@given(COMBINATIONS)
def test_a_model_no_better_than_the_most_frequent_class_is_told_so_first(tones: dict[str, str]) -> None:
    asked = lines(**tones)
    found, headline = goals_of(asked), headline_of(goals_of(asked), weigh(asked))
    if tones.get("accuracy") in ("against", "unsettled"):
        assert headline == nothing_to_explain()[tones["accuracy"]]
        assert {goal.answer for goal in found} <= {"cannot say", "no"}
    else:
        assert headline.startswith("This attention may be shown") == (found[0].answer == "yes")
        assert headline.startswith("Do not show") == (found[0].answer == "no")


@given(COMBINATIONS, st.sampled_from(EVERY), st.sampled_from(("supports", "mixed")))
def test_no_answer_gets_better_when_a_line_gets_worse(tones: dict[str, str], key: str, tone: str) -> None:
    worse = {"supports": "mixed", "mixed": "against"}[tone]
    before, after = (goals_of(lines(**tones | {key: it})) for it in (tone, worse))
    for one, other in zip(before, after, strict=True):
        assert BEST_FIRST.index(other.answer) >= BEST_FIRST.index(one.answer)


def test_what_breaks_is_what_the_lines_say() -> None:
    both = goals_of(lines(**GOOD | {"gradient": "against", "deletion": "against"}))[0]
    assert "no other view of which words mattered agrees" in both.why
    assert "stand for" not in both.why  # the line on states speaks for them

"""Each use of attention is answered by its line, and lowered by whatever bounds it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attentest.presentation import calibrated as calibration
from attentest.presentation.calibrated import Calibrated, Share
from attentest.presentation.line import ANSWER_OF, Line
from attentest.report.verdict.argument import ARGUMENT, KEYS
from attentest.report.verdict.goals import bounds_on, goals_of
from attentest.report.verdict.judge import headline_of
from attentest.report.verdict.remarks import remarks
from attentest.store.summary import Estimate
from attentest.tasks import TEXTS

DECIDES = {part.decides: part.key for part in ARGUMENT if part.decides}
GOOD = dict.fromkeys(DECIDES.values(), "supports")
EVERY = tuple(part.key for part in ARGUMENT)
TONES = st.sampled_from(("supports", "mixed", "against", "unsettled", "context", "void", None))
COMBINATIONS = st.fixed_dictionaries(dict.fromkeys(EVERY, TONES)).map(lambda d: {k: t for k, t in d.items() if t})
BEST_FIRST = ("yes", "with care", "no", "cannot say")


def line(key: str, tone: str, value: float = 0.8, **about: object) -> Line:
    found = Estimate(value, value - 0.1, value + 0.1, 0.1, 100, 0, "")
    decides = next((part.decides for part in ARGUMENT if part.key == key), "")
    return Line(key, "?", "", "It says so. And more.", tone, found, "states", decides=decides, **about)  # type: ignore[arg-type]


def lines(**tones: str) -> tuple[Line, ...]:
    return tuple(line(key, tone) for key, tone in tones.items())


def answers(**tones: str) -> tuple[str, ...]:
    return tuple(goal.answer for goal in goals_of(lines(**tones)))


@pytest.mark.parametrize("use", KEYS)
@pytest.mark.parametrize("tone", ["supports", "mixed", "against", "unsettled", "void", "context"])
def test_a_use_is_answered_by_its_own_line(use: str, tone: str) -> None:
    found = dict(zip(KEYS, answers(**GOOD | {DECIDES[use]: tone}), strict=True))
    assert found == dict.fromkeys(KEYS, "yes") | {use: ANSWER_OF.get(tone, "cannot say")}


def test_what_was_not_run_answers_nothing() -> None:
    found = goals_of(())
    assert [(goal.answer, goal.open) for goal in found] == [("cannot say", "not run")] * 3
    assert [goal.key for goal in found] == list(KEYS)


def test_ways_that_contradict_each_other_answer_nothing_and_say_so() -> None:
    found = goals_of((line("words", "unsettled", apart=True, unsettled="They part. So what?"),))[0]
    assert (found.answer, found.open, found.why) == ("cannot say", "apart", "They part. So what?")


@given(COMBINATIONS)
def test_no_other_test_raises_an_answer(tones: dict[str, str]) -> None:
    """All against, all unsettled: what decides decides, and bounds can only lower it."""
    for use, found in zip(KEYS, answers(**tones), strict=True):
        best = ANSWER_OF.get(tones.get(DECIDES[use], ""), "cannot say")
        assert BEST_FIRST.index(found) >= BEST_FIRST.index(best)


@given(COMBINATIONS, st.sampled_from(EVERY), st.sampled_from(("supports", "mixed")))
def test_no_answer_gets_better_when_a_line_gets_worse(tones: dict[str, str], key: str, tone: str) -> None:
    worse = {"supports": "mixed", "mixed": "against"}[tone]
    before, after = (answers(**tones | {key: it}) for it in (tone, worse))
    for one, other in zip(before, after, strict=True):
        assert BEST_FIRST.index(other) >= BEST_FIRST.index(one)


def test_a_bound_brings_its_words() -> None:
    for part in ARGUMENT:
        for bound in part.bounds:
            found = {goal.key: goal for goal in goals_of(lines(**GOOD | {part.key: bound.tone}))}[bound.use]
            assert found.answer == bound.best
            assert bound.said(TEXTS) in found.words
            assert bound in bounds_on(bound.use, lines(**{part.key: bound.tone}))


def test_a_trained_rival_a_needless_attention_and_luck_bound_the_one_reason_alone() -> None:
    for key in ("unique", "needed", "luck"):
        assert answers(**GOOD | {key: "against"}) == ("yes", "yes", "no")
    assert answers(**GOOD | {"unique": "mixed"}) == ("yes", "yes", "no")


@given(COMBINATIONS)
def test_a_model_no_better_than_the_most_frequent_class_is_told_so_first(tones: dict[str, str]) -> None:
    asked = lines(**tones)
    found = goals_of(asked)
    headline = headline_of(found, asked)
    if tones.get("accuracy") in ("against", "unsettled"):
        assert "nothing to explain" in headline
        assert {goal.answer for goal in found} == {"cannot say"}
    else:
        assert headline.startswith("This attention may be shown") == (found[0].answer == "yes")
        assert headline.startswith("Do not show") == (found[0].answer == "no")


def test_only_what_beats_a_random_order_is_shown_in_place_of_attention() -> None:
    against = line("words", "against")
    assert "Show nothing instead" in goals_of((against, line("saliency", "against")))[0].words
    better = goals_of((against, line("saliency", "against", better=("gradient", "lrp"))))[0]
    assert better.words.endswith("better than a random order: gradient, lrp.")
    assert not goals_of((line("words", "supports"), line("saliency", "against")))[0].beside


def test_an_attention_that_mostly_lies_on_no_word_is_a_hint_at_best() -> None:
    found = goals_of((*lines(**GOOD), line("held", "context", 0.2)))
    assert [goal.answer for goal in found] == ["with care", "yes", "with care"]
    assert "Only 20\u00a0% of this attention lies on words." in found[0].words


def test_beside_an_answer_stands_how_often_it_was_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Calibrated({}, {"reason": {"yes": [3, 150, 0.004, 0.05]}}, {}, {}, {}, 400, 20, 90)
    monkeypatch.setattr("attentest.report.verdict.goals.calibrated", lambda: known)
    found = goals_of(lines(**GOOD))
    assert found[0].wrong == Share(3, 150, 0.004, 0.05)
    assert found[0].error == "2 % [0, 5] of 150"
    assert found[1].error == ""
    assert goals_of(lines(**GOOD), calibrated_here=False)[0].wrong is None
    elsewhere = goals_of((*lines(**GOOD), line("held", "context", 0.2)))[0]
    assert (elsewhere.answer, elsewhere.wrong) == ("with care", None)
    assert calibration.calibrated().marks.keys() >= {*KEYS, "text"}


def test_tests_on_other_models_add_a_sentence_each() -> None:
    for key in ("needed", "luck", "carries", "unique"):
        assert len(list(remarks(lines(**{key: "against"})))) == 1
    assert list(remarks(lines(luck="unsettled"))) == []


def test_where_words_mislead_a_yes_about_states_says_that_it_is_about_states() -> None:
    for tone, told in (("against", True), ("mixed", False), ("supports", False)):
        found = {goal.key: goal for goal in goals_of(lines(**GOOD | {DECIDES["reason"]: tone}))}
        assert found["check"].answer == "yes"
        assert ("may still use a word of no weight" in found["check"].why) is told

"""What attention may be used for: each use is answered by its line, and lowered by whatever bounds it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attentest.presentation.calibrated import calibrated
from attentest.presentation.line import ANSWER_OF, Answer, Line
from attentest.presentation.thresholds import percent
from attentest.report.verdict.argument import ARGUMENT, Bound, Key
from attentest.report.verdict.verdict import Goal, Open
from attentest.tasks import TEXTS, Wording

__all__ = ["bounds_on", "goals_of"]

#: Answers from the best to the one that is no answer.
ORDER: tuple[Answer, ...] = ("yes", "with care", "no", "cannot say")
#: Where less of an attention lies on words, it is no more than a hint at what mattered.
HALF = 0.5


def goals_of(
    lines: Sequence[Line], wording: Wording = TEXTS, *, calibrated_here: bool = True, thorough: bool = False
) -> tuple[Goal, ...]:
    """What each reader may do with this attention: say which words mattered, check where it looks, give one reason."""
    by_key = {line.key: line for line in lines}
    goals = []
    for part in ARGUMENT:
        if not part.decides:
            continue
        goal = _answered(_asked(part.decides, wording), part.decides, by_key.get(part.key), wording)
        decided = goal.answer
        goal = _of_states_alone(goal, by_key.get("words"), wording)
        goal = _better(goal, by_key.get("saliency"))
        for bound in bounds_on(part.decides, lines):
            goal = _lowered(goal, bound, wording)
        goal = _mostly_elsewhere(goal, by_key.get("held"), wording)
        if calibrated_here and goal.answer == decided:  # what bounds an answer was not calibrated
            goal = replace(goal, wrong=calibrated().wrong(part.decides, decided, thorough=thorough))
        goals.append(goal)
    return tuple(goals)


def bounds_on(use: Key, lines: Sequence[Line]) -> list[Bound]:
    """What bounds a use, by the tones of the lines."""
    tones = {line.key: line.tone for line in lines}
    return [b for part in ARGUMENT for b in part.bounds if b.use == use and tones.get(part.key) == b.tone]


def _asked(use: Key, wording: Wording) -> Goal:
    asked = {
        "reason": (
            f"Say which input {wording.items} mattered to a prediction",
            "a model developer",
            f"Say which {wording.items} mattered",
        ),
        "check": (
            "Check that the model looks where it should",
            "the model's builder",
            "Check where the model looks",
        ),
        "one": (
            "Present attention as the one reason for a decision",
            "someone the decision concerns",
            "Give it as the one reason",
        ),
    }
    goal, reader, short = asked[use]
    return Goal(goal, reader, "cannot say", "", short=short, key=use)


def _answered(goal: Goal, use: Key, line: Line | None, wording: Wording) -> Goal:
    if line is None:
        why = f"The challenge that answers this (importance) was not run, or could judge no {wording.unit}."
        return replace(goal, why=why, open="not run")
    if line.tone not in ANSWER_OF:
        still: Open = "apart" if line.apart else "not settled"
        return replace(goal, why=line.unsettled or f"These {wording.units} settle nothing.", open=still)
    return replace(goal, answer=ANSWER_OF[line.tone], why=_why(use, line, wording))


def _why(use: Key, line: Line, wording: Wording) -> str:
    items, held = wording.items, f"{line.estimate.value:.2f}"
    between = f"{held}, where 0 is a blind choice and 1 the best"
    return {
        "reason": {
            "supports": f"Its top {items} hold most of what mattered: {between}.",
            "mixed": f"Its top {items} hold part of what mattered: {between}.",
            "against": f"It would mislead: what mattered lies on other {items} ({between}).",
        },
        "check": {
            "supports": f"The output takes most of what it says from the states it weighs: {between}.",
            "mixed": f"The output takes part of what it says from states of little weight: {between}.",
            "against": f"The output takes what it says from states of little weight: {between}.",
        },
        "one": {
            "supports": f"Neither other {items} nor other weights would have done ({held} of 1).",
            "mixed": f"Other {items}, or other weights, would have done in part ({held} of 1).",
            "against": f"Other {items}, or other weights, would have done as well ({held} of 1).",
        },
    }[use][line.tone]


def _of_states_alone(goal: Goal, words: Line | None, wording: Wording) -> Goal:
    """Where weights lie on states that speak for other words, the weights do not show which words were used."""
    if goal.key != "check" or goal.answer not in ("yes", "with care") or words is None or words.tone != "against":
        return goal
    but = f"This is about states: the model may still use a {wording.item} of no weight."
    return replace(goal, why=f"{but} {goal.why}")


def _better(goal: Goal, compared: Line | None) -> Goal:
    """What to show in place of attention: what does significantly more than a random order, or nothing."""
    if goal.key != "reason" or goal.answer != "no" or compared is None:
        return goal
    instead = "Show nothing instead until some method beats a random order."
    if compared.better:
        instead = f"Show instead what does significantly better than a random order: {', '.join(compared.better)}."
    return replace(goal, beside=(*goal.beside, instead))


def _lowered(goal: Goal, bound: Bound, wording: Wording) -> Goal:
    """The goal, no better than the bound allows, and with its words."""
    why = bound.said(wording)
    if bound.best == "cannot say":
        return replace(goal, answer="cannot say", why=why, open="", beside=())
    if goal.answer == "cannot say":
        return goal
    if ORDER.index(bound.best) > ORDER.index(goal.answer):
        return replace(goal, answer=bound.best, why=why, beside=(goal.why, *goal.beside))
    return replace(goal, beside=(*goal.beside, why))


def _mostly_elsewhere(goal: Goal, held: Line | None, wording: Wording) -> Goal:
    """An attention that mostly lies on no word is a hint at best."""
    if held is None or goal.key == "check" or not held.estimate.value < HALF or goal.answer in ("no", "cannot say"):
        return goal
    why = f"Only {percent(held.estimate.value)} of this attention lies on {wording.items}."
    return replace(goal, answer="with care", beside=(why, *goal.beside))

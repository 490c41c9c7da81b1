"""From lines to a verdict: what this attention may and may not be used for, by whom.

Four things are weighed, each from its own lines: does the output *depend* on attention (uniform, permutation),
does attention *rank* the states the output depends on (state erasure), do those states still stand for their
*tokens* (deletion, gradients, planted truth), and is this attention the *only* one that would do (adversary).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attentest.report.lines import lines_of, percent
from attentest.report.verdict import Goal, Line, Verdict
from attentest.store.folder import RunFolder

__all__ = ["judge", "weigh"]

LIMITS = (
    "Attention cannot be changed while everything else stays as it was: replacing it feeds the head contexts it "
    "never met in training (Grimsley et al. 2020). A change of the prediction shows dependence, not its cause.",
    "Deleting or erasing takes a text off the manifold the model was trained on.",
    "Gradients and deletion are other views of importance, not the truth; agreement with them is evidence. Kendall's "
    "τ is said to be unfair to contextual models, so other rank measures stand beside it in the findings.",
    "The verdict holds for this model, this corpus and this seed, and its thresholds are provisional.",
)

UNKNOWN = "unknown"


@dataclass(frozen=True)
class Weighed:
    """What the lines say together on each of the four things: supports, mixed, against or unknown."""

    depends: str
    ranks: str
    stands: str
    only: str


def judge(run: RunFolder) -> Verdict:
    """The verdict on a finished run."""
    lines = tuple(lines_of(run))
    weighed = weigh(lines)
    goals = (_reason(weighed), _check(weighed), _one_reason(weighed, lines))
    return Verdict(_headline(goals[0]), lines, goals, _closing(lines, weighed, goals), LIMITS)


def weigh(lines: tuple[Line, ...]) -> Weighed:
    """The lines, weighed: what is central decides, the rest can only lower it."""
    tone = {line.key: line.tone for line in lines if line.tone != "context"}
    dependence = [tone[key] for key in ("uniform", "permutation") if key in tone]
    beside = [tone[key] for key in ("gradient", "deletion", "rationale") if key in tone]
    stands: str = tone.get("stands", UNKNOWN)
    if stands == "supports" and "against" in beside:
        stands = "mixed"
    elif stands == "mixed" and beside and all(t == "against" for t in beside):
        stands = "against"
    return Weighed(
        depends="supports" if "supports" in dependence else _same(dependence),
        ranks=tone.get("states", UNKNOWN),
        stands=stands,
        only=tone.get("adversary", UNKNOWN),
    )


def _same(tones: Sequence[str]) -> str:
    return UNKNOWN if not tones else tones[0] if len(set(tones)) == 1 else "mixed"


def _reason(weighed: Weighed) -> Goal:
    goal, reader = "Say which input words mattered to a prediction", "a model developer"
    said = (weighed.depends, weighed.ranks, weighed.stands)
    if UNKNOWN in said:
        return Goal(goal, reader, "cannot say", "The challenges that answer this were not run.")
    if "against" in said:
        broken = [
            words
            for what, words in zip(
                said,
                (
                    "the prediction hardly depends on the weights",
                    "the weights do not rank the states it depends on",
                    "the states they weigh do not stand for the words below them",
                ),
                strict=True,
            )
            if what == "against"
        ]
        return Goal(goal, reader, "no", f"It would mislead: {', and '.join(broken)}. Show deletion or gradients.")
    if set(said) == {"supports"}:
        why = "The weights rank the states the output depends on, and those states still stand for their words."
        return Goal(goal, reader, "yes", why)
    return Goal(
        goal, reader, "with care", "It points the right way only loosely; show deletion or gradients beside it."
    )


def _check(weighed: Weighed) -> Goal:
    goal, reader = "Check that the model looks where it should", "the model's builder"
    said = (weighed.depends, weighed.ranks)
    if UNKNOWN in said:
        return Goal(goal, reader, "cannot say", "The challenges that answer this were not run.")
    if "against" in said:
        why = "The prediction hardly depends on where it looks; neither an odd nor a sensible focus means much."
        return Goal(goal, reader, "no", why)
    if set(said) == {"supports"}:
        why = "Where it looks drives what it predicts, so an odd focus is worth following up."
        return Goal(goal, reader, "yes", why)
    return Goal(goal, reader, "with care", "An odd focus is worth following up; a sensible one proves nothing.")


def _one_reason(weighed: Weighed, lines: tuple[Line, ...]) -> Goal:
    goal, reader = "Present attention as the one reason for a decision", "someone the decision concerns"
    reason = _reason(weighed)
    if weighed.only == UNKNOWN or reason.answer == "cannot say":
        return Goal(goal, reader, "cannot say", "The challenges that answer this were not run.")
    if weighed.only != "supports":
        found = next(line for line in lines if line.key == "adversary").estimate
        why = f"Attentions that differ by {percent(found.value)} of the largest possible difference predict the same."
        return Goal(goal, reader, "no", why)
    if reason.answer == "yes":
        return Goal(goal, reader, "with care", "Few other attentions would do, but a ranking is not yet a reason.")
    return Goal(goal, reader, "no", "It does not reliably say which words mattered.")


def _headline(reason: Goal) -> str:
    return {
        "yes": "This attention may be shown as a ranking of the words that mattered.",
        "with care": "This attention is a hint, not a reason: show it only beside deletion or gradients.",
        "no": "Do not show this attention as the reason for a prediction.",
        "cannot say": "Too few challenges were run to say what this attention may be used for.",
    }[reason.answer]


def _closing(lines: tuple[Line, ...], weighed: Weighed, goals: tuple[Goal, ...]) -> str:
    judged = next((line.estimate.judged for line in lines), 0)
    depends = {
        "supports": "the predictions depend on the attention weights",
        "mixed": "the predictions depend somewhat on the attention weights",
        "against": "the predictions hardly depend on the attention weights",
        UNKNOWN: "whether the predictions depend on the attention weights was not examined",
    }[weighed.depends]
    ranks = {
        "supports": "the weights rank the states that matter",
        "mixed": "the weights rank the states that matter only in part",
        "against": "the weights do not rank the states that matter",
        UNKNOWN: "whether they rank the states that matter was not examined",
    }[weighed.ranks]
    stands = {
        "supports": "those states still stand for their words",
        "mixed": "those states stand for their words only in part",
        "against": "those states do not stand for their words",
        UNKNOWN: "whether those states stand for their words was not examined",
    }[weighed.stands]
    may = {"yes": "may", "with care": "may, with care,", "no": "may not", "cannot say": "cannot yet be told to"}
    reason, check, one = (may[goal.answer] for goal in goals)
    uses = (
        f"A model developer {reason} read from it which input words mattered to a prediction. "
        f"The model's builder {check} use it to check that the model looks where it should. "
        f"It {one} be presented as the one reason for a decision to someone whom the decision concerns."
    )
    return f"On {judged} instances, {depends}; {ranks}; and {stands}. {uses}"

"""How the verdict's lines are weighed together: what decides, what can only lower it, and what it costs each goal.

Five things carry the answers: does the output *depend* on attention, does attention *rank* the states the output is
made of, do those states still *stand* for their tokens, do other views of the tokens *agree*, and is this attention the
*only* one that would do:

    depends   uniform, permutation         one that speaks for it is enough, unless the other speaks against it
    ranks     states                       lowered by order
    stands    stands
    agrees    gradient, deletion, saliency, rationale, carries
                                           one against lowers the answer, all against break it; none raises it
    only      unique, or else adversary    a model that attends elsewhere is an alternative; weights found for one text,
                                           apart from any model, say less, and count where no adversary was trained
                                           or the trained ones settle nothing

Whatever speaks against a goal bounds it and is named in its answer (``cautions``), so that no answer contradicts a line
it rests on. Three lines stand outside these five questions. *accuracy*: a model that is not significantly better than
the most frequent class has nothing to explain. *needed*: where the task does not need attention there is nothing to
explain, although this model may rely on it. *luck*: what varies over seeds is true of this training alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from attentest.presentation.line import Line
from attentest.presentation.thresholds import percent
from attentest.report.verdict.argument import ARGUMENT, DEPENDENCE, KEYS, OTHER_VIEWS, Key
from attentest.report.verdict.verdict import Goal
from attentest.tasks import TEXTS, Wording

__all__ = [
    "UNKNOWN",
    "UNSETTLED",
    "VOID",
    "Caution",
    "Weighed",
    "bounded",
    "cautions",
    "nothing_to_explain",
    "remarks",
    "remarks_by_tone",
    "weigh",
    "why_open",
]

UNKNOWN, UNSETTLED, VOID = "unknown", "unsettled", "void"


@dataclass(frozen=True)
class Weighed:
    """What the lines say together on each of these: supports, mixed, against, unsettled, unknown or void."""

    depends: str
    ranks: str
    stands: str
    agrees: str
    only: str
    #: Whether the model is significantly better than the most frequent class.
    predicts: str


@dataclass(frozen=True)
class Caution:
    """What a line of some tone leaves of a goal: the best answer, and why."""

    line: str
    goal: Key
    #: "yes" lowers nothing: it is a remark.
    best: Literal["yes", "with care", "cannot say", "no"]
    why: str
    tone: str = "against"


#: What is said first of a model that is not better than the most frequent class, by the tone of its line.
NOTHING: Mapping[str, str] = {"against": "There is nothing to explain", "unsettled": "There may be nothing to explain"}


def nothing_to_explain(wording: Wording = TEXTS) -> Mapping[str, str]:
    """Why no goal can be answered for a model that is not better than the most frequent class, by the line's tone."""
    most = f"the most frequent {wording.choice}"
    return {
        "against": f"{NOTHING['against']}: the model is right no more often than {most}.",
        "unsettled": f"{NOTHING['unsettled']}: the model is not significantly better than {most}.",
    }


def cautions(wording: Wording = TEXTS) -> tuple[Caution, ...]:
    """Every caution."""
    luck = (
        f"Speak of this model, not of the task: another seed would show other {wording.items}.",
        f"Another seed of the same model would more often than not show another {wording.item}.",
    )
    return (
        *(Caution("accuracy", goal, "cannot say", f"{why}.", tone) for goal in KEYS for tone, why in NOTHING.items()),
        *(Caution(part.key, goal, "with care", part.said(wording)) for part in ARGUMENT for goal in part.bounds),
        Caution("needed", "one", "no", "A model trained with uniform weights decides as well."),
        Caution("luck", "reason", "yes", luck[0]),
        Caution("luck", "check", "yes", "Check again after every training: another seed attends elsewhere."),
        Caution("luck", "one", "no", luck[1]),
    )


def remarks_by_tone(wording: Wording = TEXTS) -> Mapping[str, Mapping[str, str]]:
    """What the closing paragraph adds for a line and its tone."""
    item, items = wording.item, wording.items
    return {
        "accuracy": nothing_to_explain(wording),
        "needed": {
            "supports": "A model trained with uniform weights predicts worse, so the task needs attention.",
            "mixed": "A model trained with uniform weights predicts only a little worse.",
            "against": "A model trained with uniform weights predicts as well, so the task does not need attention.",
        },
        "luck": {
            "supports": f"Other seeds of the same model put the same {items} first.",
            "mixed": f"Another seed of the same model would often put another {item} first.",
            "against": f"Another seed of the same model would more often than not put another {item} first.",
        },
        "carries": {
            "supports": f"A simple model of single {items} predicts better when guided by the weights.",
            "against": f"A simple model of single {items} gains nothing when guided by the weights.",
        },
        "unique": {
            "supports": "A model trained to attend elsewhere no longer predicts the same.",
            "mixed": "A model trained to attend elsewhere predicts the same, but attends only partly elsewhere or "
            "with weights that are a worse guide.",
            "against": "A model trained to attend elsewhere does so, and predicts the same.",
        },
    }


def weigh(lines: Sequence[Line]) -> Weighed:
    """The lines, weighed: what is central decides, the rest can only lower it."""
    tone = {line.key: line.tone for line in lines if line.tone != "context"}
    dependence = [tone[key] for key in DEPENDENCE if key in tone]
    depends = next((t for t in ("supports", "mixed", UNSETTLED, "against") if t in dependence), UNKNOWN)
    if depends == "supports" and "against" in dependence:
        depends = "mixed"
    # Shown as context when shuffled weights would do as well, it still holds: a condition, not an argument.
    ranks = next(({"context": "supports"}.get(line.tone, line.tone) for line in lines if line.key == "states"), UNKNOWN)
    if ranks == "supports" and tone.get("order") == "against":
        ranks = "mixed"
    stands: str = tone.get("stands", UNKNOWN)
    return Weighed(depends, ranks, stands, _agrees(tone, stands), _only(tone), tone.get("accuracy", "supports"))


def _agrees(tone: Mapping[str, str], stands: str) -> str:
    """Other views of the tokens together; one alone breaks nothing, unless states stand for tokens only in part."""
    views = [tone[key] for key in OTHER_VIEWS if tone.get(key, VOID) != VOID]
    if "against" not in views:
        return "supports" if views else UNKNOWN
    alone = len(views) == 1 and stands != "mixed"
    return "against" if set(views) == {"against"} and not alone else "mixed"


def _only(tone: Mapping[str, str]) -> str:
    """A trained adversary decides where it settles anything."""
    trained = tone.get("unique", UNKNOWN)
    return trained if trained in ("supports", "mixed", "against") else tone.get("adversary", trained)


def bounded(goal: Goal, key: Key, lines: Sequence[Line], wording: Wording = TEXTS) -> Goal:
    """The goal under every caution that holds: no better than it allows, and with its words."""
    tone = {line.key: line.tone for line in lines}
    for caution in cautions(wording):
        if caution.goal != key or tone.get(caution.line) != caution.tone or goal.answer == "no":
            continue
        if caution.best in ("no", "cannot say"):
            goal = replace(goal, answer=caution.best, why=caution.why, open="", beside=())
        elif goal.answer in ("yes", "with care"):
            answer = "with care" if caution.best == "with care" else goal.answer
            goal = replace(goal, answer=answer, beside=(*goal.beside, caution.why))
    return goal


def remarks(lines: Sequence[Line], weighed: Weighed, wording: Wording = TEXTS) -> Iterator[str]:
    """What the four tests add, a sentence each, and where they part from the other lines."""
    tone = {line.key: line.tone for line in lines}
    for key, words in remarks_by_tone(wording).items():
        if tone.get(key, "") in words:
            yield words[tone[key]]
    if tone.get("needed") == "against" and weighed.depends in ("supports", "mixed"):
        yield "This model still relies on its attention, so the weights say something about it, if not about the task."
    if tone.get("unique") == "supports" and tone.get("adversary") in ("mixed", "against"):
        yield f"Other weights would do for single {wording.units}, but no trained model has them."


def why_open(goal: Goal, lines: tuple[Line, ...], keys: tuple[str, ...] = DEPENDENCE, wording: Wording = TEXTS) -> Goal:
    """The goal with the reason why it is not settled, where that is what was held in one of these lines."""
    share = next((line.estimate for line in lines if line.key == "held"), None)
    kept = any(line.key in keys and line.held for line in lines)
    if goal.open != "not settled" or share is None or not kept:
        return goal
    return replace(
        goal,
        why=f"Only {percent(share.value)} of this attention lies on {wording.items}: what their weights do cannot be "
        "told from it.",
    )

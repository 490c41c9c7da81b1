"""How the verdict's lines are weighed together: what decides, what can only lower it, and what it costs each goal.

Four things carry the answers: does the output *depend* on attention, does attention *rank* the states the output is
made of, do those states still *stand* for their tokens, and is this attention the *only* one that would do. Each has
central lines, which decide, and lines beside them, which can lower it and never raise it:

    depends   uniform, permutation         one that speaks for it is enough
    ranks     states                       lowered by order
    stands    stands                       lowered by gradient, deletion, saliency, rationale, carries
    only      unique, or else adversary    a whole model that attends otherwise is a rival; weights found for one text,
                                           apart from any model, say less, and count where no rival was trained or
                                           the trained ones settle nothing

Two lines are about other models than this one, and break no link of that chain. They bound what a goal may claim
(``cautions``): *needed*, because attention that the task does not need is owed no explanation, although this model may
lean on it; and *luck*, because what another seed would show otherwise is true of this training alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from attentest.report.verdict import Goal, Line
from attentest.tasks import TEXTS, Wording

__all__ = ["UNKNOWN", "UNSETTLED", "Caution", "Weighed", "bounded", "cautions", "remarks", "remarks_by_tone", "weigh"]

UNKNOWN, UNSETTLED = "unknown", "unsettled"
BESIDE_STANDS = ("gradient", "deletion", "saliency", "rationale", "carries")

Key = Literal["reason", "check", "one"]


@dataclass(frozen=True)
class Weighed:
    """What the lines say together on each of the four: supports, mixed, against, unsettled or unknown."""

    depends: str
    ranks: str
    stands: str
    only: str


@dataclass(frozen=True)
class Caution:
    """What a line that speaks against attention leaves of a goal: the best answer, and why."""

    line: str
    goal: Key
    #: "yes" lowers nothing: it is a remark.
    best: Literal["yes", "with care", "no"]
    why: str


def cautions(wording: Wording = TEXTS) -> tuple[Caution, ...]:
    """Every caution."""
    item = wording.item
    return (
        Caution(
            "needed",
            "reason",
            "with care",
            "But a model trained without attention does as well: it is owed no explanation.",
        ),
        Caution("needed", "one", "no", "A model trained without any attention decides as well."),
        Caution(
            "luck",
            "reason",
            "yes",
            f"Speak of this model, not of the task: another training would show other {wording.items}.",
        ),
        Caution("luck", "check", "yes", "Look again after every training: another one looks elsewhere."),
        Caution(
            "luck", "one", "no", f"Another training of the same model would more often than not show another {item}."
        ),
    )


def remarks_by_tone(wording: Wording = TEXTS) -> Mapping[str, Mapping[str, str]]:
    """What the closing paragraph adds for a line and its tone."""
    item, items = wording.item, wording.items
    return {
        "needed": {
            "supports": "A model trained without attention predicts worse, so attention is needed here.",
            "mixed": "A model trained without attention predicts only a little worse.",
            "against": "A model trained without attention predicts as well, so that no explanation is owed to "
            "attention.",
        },
        "luck": {
            "supports": f"Other trainings of the same model put the same {items} first.",
            "mixed": f"Another training of the same model would often put another {item} first.",
            "against": f"Another training of the same model would more often than not put another {item} first.",
        },
        "carries": {
            "supports": f"Handed to a simple model of single {items}, the weights make it predict better.",
            "against": f"Handed to a simple model of single {items}, the weights are of no use.",
        },
        "unique": {
            "supports": "A model that was trained to attend elsewhere no longer predicts the same.",
            "mixed": "A model that was trained to attend elsewhere predicts the same, but not wholly elsewhere or "
            "under weights that are a worse guide.",
            "against": "A model that was trained to attend elsewhere does so, and predicts the same.",
        },
    }


def weigh(lines: Sequence[Line]) -> Weighed:
    """The lines, weighed: what is central decides, the rest can only lower it."""
    tone = {line.key: line.tone for line in lines if line.tone != "context"}
    dependence = [tone[key] for key in ("uniform", "permutation") if key in tone]
    depends = next((t for t in ("supports", "mixed", UNSETTLED, "against") if t in dependence), UNKNOWN)
    # Shown as context when shuffled weights would do as well, it still holds: a condition, not an argument.
    ranks = next(({"context": "supports"}.get(line.tone, line.tone) for line in lines if line.key == "states"), UNKNOWN)
    if ranks == "supports" and tone.get("order") == "against":
        ranks = "mixed"
    beside = [tone[key] for key in BESIDE_STANDS if key in tone]
    stands: str = tone.get("stands", UNKNOWN)
    if stands == "supports" and "against" in beside:
        stands = "mixed"
    elif stands == "mixed" and beside and all(t == "against" for t in beside):
        stands = "against"
    return Weighed(depends, ranks, stands, _only(tone))


def _only(tone: Mapping[str, str]) -> str:
    """A trained rival decides where it settles anything."""
    trained = tone.get("unique", UNKNOWN)
    return trained if trained in ("supports", "mixed", "against") else tone.get("adversary", trained)


def bounded(goal: Goal, key: Key, lines: Sequence[Line], wording: Wording = TEXTS) -> Goal:
    """The goal under every caution that holds: no better than it allows, and with its words."""
    against = {line.key for line in lines if line.tone == "against"}
    for caution in cautions(wording):
        if caution.goal != key or caution.line not in against:
            continue
        if caution.best == "no" and goal.answer != "no":
            goal = replace(goal, answer="no", why=caution.why, open="")
        elif goal.answer in ("yes", "with care"):
            answer = "with care" if caution.best == "with care" else goal.answer
            goal = replace(goal, answer=answer, why=f"{goal.why} {caution.why}")
    return goal


def remarks(lines: Sequence[Line], weighed: Weighed, wording: Wording = TEXTS) -> Iterator[str]:
    """What the four tests add, a sentence each, and where they part from the other lines."""
    tone = {line.key: line.tone for line in lines}
    for key, words in remarks_by_tone(wording).items():
        if tone.get(key, "") in words:
            yield words[tone[key]]
    if tone.get("needed") == "against" and weighed.depends in ("supports", "mixed"):
        yield "This one leans on its attention all the same, so the weights say something of it, if not of the task."
    if tone.get("unique") == "supports" and tone.get("adversary") in ("mixed", "against"):
        yield f"Other weights would do for single {wording.units}, but no trained model has them."

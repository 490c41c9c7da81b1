"""The argument of the verdict: which line decides which use, what else bounds a use, in which order lines are told.

Each use of attention is decided by one line of the challenge ``importance``, with marks that were fitted on models of
known truth. Some lines can only lower an answer. All others are shown with what calibration found of them, and decide
nothing. A line that is not here is context.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attentest.presentation.line import Answer
from attentest.tasks import Wording

__all__ = ["ARGUMENT", "DECIDING", "KEYS", "Bound", "Key", "Part", "part_of", "place_of"]

#: The uses of attention that are judged.
Key = Literal["reason", "check", "one"]
KEYS: tuple[Key, ...] = ("reason", "check", "one")
#: The truth, known by intervention, that a test is measured by: about words, about states, about the one reason.
Truth = Literal["words", "states", "one"]


@dataclass(frozen=True)
class Bound:
    """What a line of some tone leaves of a use: the best answer, and why (``{w.items}``: see Wording)."""

    use: Key
    best: Answer
    why: str
    tone: str = "against"

    def said(self, wording: Wording) -> str:
        """Why, in the words of a run."""
        return self.why.format(w=wording)


@dataclass(frozen=True)
class Part:
    """A line's part in the argument."""

    key: str
    #: The challenge that it is read from, and the measure by which calibration knows it.
    challenge: str
    measure: str = ""
    truth: Truth = "words"
    decides: Key | Literal[""] = ""
    bounds: tuple[Bound, ...] = ()


_NOTHING = (("against", "There is nothing to explain."), ("unsettled", "There may be nothing to explain."))

ARGUMENT = (
    Part(
        *("accuracy", "instances"),
        bounds=tuple(Bound(use, "cannot say", why, tone) for use in KEYS for tone, why in _NOTHING),
    ),
    Part("words", "importance", "attention.held", decides="reason"),
    Part("states", "importance", "attention.held.states", "states", decides="check"),
    Part("one", "importance", "attention.one", "one", decides="one"),
    Part("held", "instances"),
    Part("uniform", "uniform", "flipped", "one"),
    Part("permutation", "permutation", "median_change", "one"),
    Part("erased", "agreement", "attention~state_erasure.captured", "states"),
    Part("order", "flip_sets", "attention.counted", "states"),
    Part("adversary", "adversary", "ratio", "one"),
    Part("gating", "gating"),
    Part("alone", "token_predictions"),
    Part("bleu", "bleu"),
    Part(
        *("unique", "adversarial_training"),
        bounds=tuple(
            Bound("one", "no", "A model trained to attend elsewhere predicts the same, within seed variance.", tone)
            for tone in ("against", "mixed")
        ),
    ),
    Part(
        *("needed", "trained_uniform"),
        bounds=(Bound("one", "no", "A model trained with uniform weights decides as well."),),
    ),
    Part("stands", "agreement", "state_erasure~leave_one_out.captured"),
    Part("gradient", "agreement", "attention~gradient.captured"),
    Part("deletion", "agreement", "attention~leave_one_out.captured"),
    Part("saliency", "faithfulness", "attention.normalised_comprehensiveness"),
    Part("rationale", "rationale", "attention.average_precision"),
    Part("alignment", "alignment"),
    Part("selection", "selection"),
    Part("places", "selection"),
    Part("edits", "edits"),
    Part("fragility", "fragility"),
    Part("carries", "guide"),
    Part(
        *("luck", "seed_variance"),
        bounds=(
            Bound("reason", "yes", "Speak of this model, not of the task: another seed would show other {w.items}."),
            Bound("check", "yes", "Check again after every training: another seed attends elsewhere."),
            Bound("one", "no", "Another seed of the same model would more often than not show another {w.item}."),
        ),
    ),
)
#: The challenges that a verdict cannot do without.
DECIDING = tuple(dict.fromkeys(part.challenge for part in ARGUMENT if part.decides))


def part_of(key: str) -> Part | None:
    """A line's part; None where it has none."""
    return next((part for part in ARGUMENT if part.key == key), None)


def place_of(key: str) -> int:
    """Where a line stands in the argument; those of other packages come after it."""
    keys = [part.key for part in ARGUMENT]
    return keys.index(key) if key in keys else len(keys)

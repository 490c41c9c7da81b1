"""The argument of the verdict: which lines count, in which order, and for what. A line that is not here is context.

To make a line count, give it a place in ``ARGUMENT`` and, where an estimate is read by marks, thresholds with a reason
in ``presentation/thresholds.py``. What follows from it is derived.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attentest.tasks import Wording

__all__ = ["ARGUMENT", "DECIDING", "DEPENDENCE", "KEYS", "OTHER_VIEWS", "Key", "Part", "place_of"]

#: The uses of attention that are judged.
Key = Literal["reason", "check", "one"]
KEYS: tuple[Key, ...] = ("reason", "check", "one")
WORDS: tuple[Key, ...] = ("reason",)
BOTH: tuple[Key, ...] = ("reason", "check")


@dataclass(frozen=True)
class Part:
    """A line's part in the argument."""

    key: str
    #: The challenge that it is read from.
    challenge: str
    #: The question it helps to answer: do predictions depend on the weights, do these rank states, do other views of
    #: the tokens agree? "": it is weighed by itself.
    answers: Literal["depends", "ranks", "agrees", ""] = ""
    #: Which uses are at most "with care" when it speaks against, and why, with ``{w.items}`` as the wording has them.
    bounds: tuple[Key, ...] = ()
    why: str = ""

    def said(self, wording: Wording) -> str:
        """Why, in the words of a run."""
        return self.why.format(w=wording)


ARGUMENT = (
    Part("accuracy", "instances"),
    Part("held", "instances"),
    Part("uniform", "uniform", "depends", BOTH, "Under uniform attention almost no decision flips."),
    Part("permutation", "permutation", "depends", BOTH, "Shuffling the weights hardly moves the prediction."),
    Part("states", "agreement", "ranks"),
    Part(
        *("order", "flip_sets", "", BOTH),
        "Removing its largest weights flips decisions hardly earlier than random ones.",
    ),
    Part("adversary", "adversary"),
    Part("gating", "gating"),
    Part("bleu", "bleu"),
    Part("unique", "adversarial_training"),
    Part(
        *("needed", "trained_uniform", "", WORDS),
        "A model trained with uniform weights does as well: there is nothing to explain.",
    ),
    Part("stands", "agreement"),
    Part("gradient", "agreement", "agrees", WORDS, "Gradients rank the {w.items} differently."),
    Part("deletion", "agreement", "agrees", WORDS, "The effect of deleting a {w.item} does not match its weight."),
    Part(
        *("saliency", "faithfulness", "agrees", WORDS),
        "Erasing its top {w.items} does far less than erasing saliency’s.",
    ),
    Part(
        *("rationale", "rationale", "agrees", WORDS),
        "It finds the {w.items} that {w.decide} no better than a random order.",
    ),
    Part("alignment", "alignment"),
    Part("carries", "guide", "agrees", WORDS, "A simple model of single {w.items} gains nothing from the weights."),
    Part("luck", "seed_variance"),
)
#: The lines on whether predictions depend on the weights, and those of other views of the tokens.
DEPENDENCE, OTHER_VIEWS = (
    tuple(part.key for part in ARGUMENT if part.answers == question) for question in ("depends", "agrees")
)
#: The challenges that a verdict cannot do without: one of each.
DECIDING = tuple(
    tuple(part.challenge for part in ARGUMENT if part.answers == question) for question in ("depends", "ranks")
)


def place_of(key: str) -> int:
    """Where a line stands in the argument; those of other packages come after it."""
    keys = [part.key for part in ARGUMENT]
    return keys.index(key) if key in keys else len(keys)

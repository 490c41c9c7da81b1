"""Meaningful: are the words of largest weight relevant for the prediction? (Vashishth et al. 2019)"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from attentest.parameters import Within
from attentest.people.design import Design, Draft, Draw, Requirement, in_rationale, second_of
from attentest.people.item import Choice, Item, Panel, Shown
from attentest.people.source import Source, Text, top

__all__ = ["Meaningful"]

YES, NO = Choice("yes", "yes, they are relevant", "y"), Choice("no", "no, they are not", "n")
ORIGINAL, PERMUTED = "original", "permuted"


@dataclass(frozen=True)
class Meaningful(Design):
    """Texts with the words of largest weight marked; half of them with the weights shuffled.

    The prediction of a shuffled text is the one under the shuffled weights, as in the paper: where the head is affine
    it follows from the findings, otherwise it is the one that `permutation` kept. By planted truth the marked words
    are relevant where the prediction is the label and half of those that could lie on the deciding words do.
    """

    name: ClassVar[str] = "meaningful"
    summary: ClassVar[str] = "are the top words relevant for this prediction? original and permuted weights"
    reference: ClassVar[str] = "Vashishth et al. 2019, section 4.4"
    outcomes: ClassVar[tuple[str, ...]] = ("yes", "no")
    by_correctness: ClassVar[bool] = True
    top: Annotated[int, "How many words are marked.", Within(1, 20)] = 3
    method: Annotated[str, "Whose words are marked: attention, or an explainer whose scores the run keeps."] = (
        "attention"
    )

    @property
    def conditions(self) -> tuple[str, ...]:
        """Own weights, and shuffled ones."""
        return ORIGINAL, PERMUTED

    @property
    def shortest(self) -> int:
        """Twice as many words as are marked."""
        return 2 * self.top

    @property
    def instructions(self) -> str:
        """What relevant means."""
        return f"""# What to do

A computer program read a text and chose an answer. You see the text, the answer that it chose, and
{self.top} marked words: those that the program says it looked at most.

**Are the marked words relevant for this answer?**

- Press **y** (yes) if these words are a reason, or part of a reason, to give this answer.
- Press **n** (no) if they have nothing to do with it.

The program's answer may be wrong. Judge whether the words speak for the answer that it gave, not whether the answer is
right. There are no trick questions, but now and then you are asked for a certain answer, to see that you are reading.
Press **u** to take your last answer back.
"""

    def prepare(self, *sources: Source) -> Any:
        """The method must be there; without an affine head, so must the shuffles of ``permutation``."""
        (source,) = sources
        source.method(self.method)
        return None if source.affine or self.method != "attention" else source.decided_by_shuffle()

    def draft(self, text: tuple[Text, ...], condition: str, draw: Draw, source: Source, prepared: Any) -> Draft | None:
        """The top words of own or shuffled weights, with the prediction that these weights give."""
        (own,) = text
        weights, predicted = own.scores[self.method], own.predicted
        if condition == PERMUTED:
            shuffled = _shuffled(own, weights, draw, prepared, attention=self.method == "attention")
            if shuffled is None:
                return None
            weights, predicted = shuffled
        marked = top(weights, self.top, draw.random)
        deciding = source.deciding(own)
        # What decides the label is a reason for the label, and for no other prediction.
        reason = deciding is not None and predicted == own.label and in_rationale(marked, deciding)
        planted = "" if deciding is None else "yes" if reason else "no"
        facts = {"correct": predicted == own.label, "predicted": source.name_of(predicted)}
        return Draft(self._shown(own, marked, source.name_of(predicted)), planted=planted, facts=facts)

    def gold(self, text: tuple[Text, ...], draw: Draw, source: Source, number: int) -> Draft | None:
        """Words of the rationale are marked, or words outside of it; the prediction is correct."""
        (own,) = text
        if own.rationale is None or not own.correct:
            return None
        deciding, random = source.deciding(own), draw.random.random(len(own.tokens))
        # First what decides, then the rest of the rationale; or words outside of it.
        rank = random + own.rationale + deciding if number % 2 == 0 else random * ~own.rationale
        usable = int((own.rationale if number % 2 == 0 else ~own.rationale).sum())
        if not own.rationale.any() or usable < (1 if number % 2 == 0 else self.top):
            return None
        marked = top(rank, min(self.top, usable), draw.random)
        right = "yes" if number % 2 == 0 else "no"
        return Draft(self._shown(own, marked, source.name_of(own.predicted)), right, right)

    def _shown(self, text: Text, marked: tuple[int, ...], predicted: str) -> Shown:
        return Shown(
            (Panel(text.tokens, marked),),
            "Are the marked words relevant for this answer?",
            (YES, NO),
            predicted,
            second_of(text),
        )

    def outcome(self, item: Item, choice: str) -> str:
        """As it was answered."""
        return choice

    def requirements(self, source_classes: int) -> tuple[Requirement, ...]:
        """Most are relevant, and more than of shuffled weights."""
        return (
            Requirement("most answers find the top words relevant", "yes", ORIGINAL, level=0.5),
            Requirement(
                "more answers find them relevant than under shuffled weights", "yes", ORIGINAL, against=PERMUTED
            ),
        )


def _shuffled(
    text: Text, weights: np.ndarray, draw: Draw, prepared: dict[str, tuple[int, np.ndarray]] | None, *, attention: bool
) -> tuple[np.ndarray, int] | None:
    """Shuffled weights and what the model predicts under them; scores other than weights leave it as it is."""
    if prepared is not None:
        if text.id not in prepared:
            return None
        decided, order = prepared[text.id]
        return weights[order], decided
    shuffled = weights[draw.random.permutation(len(weights))]
    if not attention or text.logits is None:
        return (shuffled, text.predicted) if not attention else None
    return shuffled, int((shuffled @ text.logits).argmax())

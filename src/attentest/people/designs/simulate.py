"""Simulate: what does the model answer? People guess it from the marked words (Hase & Bansal 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from attentest.errors import InputError, NotApplicable
from attentest.parameters import Several, Within
from attentest.people.design import Design, Draft, Draw, Requirement, second_of
from attentest.people.item import COVERED, Choice, Item, Panel, Shown
from attentest.people.source import Source, Text, top

__all__ = ["Simulate"]

#: Words drawn at random: what marked words must be better than.
RANDOM = "random"
#: More classes than this cannot be chosen from by key.
MOST_CLASSES = 9


@dataclass(frozen=True)
class Simulate(Design):
    """Forward simulation: people see the marked words and guess what the model answered.

    By default only the marked words are shown, so that the guess rests on them alone; `context=True` shows the whole
    text. Words drawn at random are the baseline.
    """

    name: ClassVar[str] = "simulate"
    summary: ClassVar[str] = "guess the model's answer from marked words (forward simulation)"
    reference: ClassVar[str] = "Hase & Bansal 2020; Doshi-Velez & Kim 2017"
    outcomes: ClassVar[tuple[str, ...]] = ("right", "wrong")
    top: Annotated[int, "How many words are marked.", Within(1, 20)] = 3
    methods: Annotated[tuple[str, ...], "Whose words are marked; `random` draws them.", Several(1, 6)] = (
        "attention",
        RANDOM,
    )
    context: Annotated[bool, "Whether the words that are not marked are shown too."] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(set(self.methods)) < len(self.methods):
            raise InputError(f"simulate: methods={self.methods} must name every method once.")

    @property
    def conditions(self) -> tuple[str, ...]:
        """Whose words are marked."""
        return self.methods

    @property
    def shortest(self) -> int:
        """Twice as many words as are marked."""
        return 2 * self.top

    @property
    def instructions(self) -> str:
        """What to guess."""
        seen = (
            "the text with some words marked"
            if self.context
            else f"{self.top} words of the text; the others are covered"
        )
        return f"""# What to do

A computer program read a text and chose one of a few answers. You see {seen}.

**Which answer did the program choose?**

Press the number of the answer. Guess what the *program* said, which may not be what you would say. Where you cannot
tell, take the answer that seems most likely: there is no "don't know". Now and then you are asked for a certain answer,
to see that you are reading. Press **u** to take your last answer back.
"""

    def prepare(self, *sources: Source) -> Any:
        """The methods must be there, and not too many classes."""
        (source,) = sources
        for method in self.methods:
            if method != RANDOM:
                source.method(method)
        if not 2 <= len(source.classes) <= MOST_CLASSES:
            raise NotApplicable(
                f"{source.run.path.name} has {len(source.classes)} classes; people can choose from 2 to {MOST_CLASSES} "
                "by key. Take a run with fewer, or the design 'meaningful'."
            )
        return None

    def draft(self, text: tuple[Text, ...], condition: str, draw: Draw, source: Source, prepared: Any) -> Draft | None:
        """The marked words; the truth is what the model predicts."""
        (own,) = text
        scores = draw.random.random(len(own.tokens)) if condition == RANDOM else own.scores[condition]
        return self._draft(own, top(scores, self.top, draw.random), source)

    def gold(self, text: tuple[Text, ...], draw: Draw, source: Source, number: int) -> Draft | None:
        """The words of the rationale of a correct prediction are shown."""
        (own,) = text
        if own.rationale is None or not own.correct or not own.rationale.any():
            return None
        return self._draft(own, tuple(int(p) for p in np.flatnonzero(own.rationale)), source)

    def _draft(self, text: Text, marked: tuple[int, ...], source: Source) -> Draft:
        panel = Panel(text.tokens, marked) if self.context else _covered(text.tokens, marked)
        choices = tuple(Choice(str(i), name, str(i + 1)) for i, name in enumerate(source.classes))
        shown = Shown((panel,), "Which answer did the program choose?", choices, second=second_of(text))
        deciding = source.deciding(text)
        told = deciding is not None and bool(deciding[list(marked)].any())
        return Draft(shown, str(text.predicted), str(text.label) if told else "", {"correct": text.correct})

    def outcome(self, item: Item, choice: str) -> str:
        """Whether it is what the model said."""
        return "right" if choice == item.hidden.truth else "wrong"

    def requirements(self, source_classes: int) -> tuple[Requirement, ...]:
        """More guesses are right than by chance, and than from random words."""
        first, others = self.methods[0], [m for m in self.methods[1:] if m == RANDOM]
        chance = Requirement("more guesses are right than by chance", "right", first, level=1 / max(source_classes, 2))
        return (
            chance,
            *(
                Requirement("more guesses are right than from words drawn at random", "right", first, against=other)
                for other in others
            ),
        )


def _covered(tokens: tuple[str, ...], marked: tuple[int, ...]) -> Panel:
    """Only the marked words; all between two of them is one ellipsis, however long."""
    shown: list[str] = []
    places: list[int] = []
    for place, token in enumerate(tokens):
        if place in marked:
            places.append(len(shown))
            shown.append(token)
        elif not shown or shown[-1] != COVERED or (places and places[-1] == len(shown) - 1):
            shown.append(COVERED)
    return Panel(tuple(shown), tuple(places))

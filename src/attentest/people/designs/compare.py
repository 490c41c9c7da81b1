"""Compare: which of two explanations explains better? Two methods of one run, or one method of two runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from attentest.errors import InputError
from attentest.people.design import SIDES, Design, Draft, Draw, Requirement, more_planted, second_of
from attentest.people.item import Choice, Item, Panel, Shown
from attentest.people.source import Source, Text

__all__ = ["Compare"]

TIE = Choice("tie", "both alike", "0")
CONDITION = "pair"


@dataclass(frozen=True)
class Compare(Design):
    """Two heat maps of one text side by side; people say which explains the prediction better.

    With one run: attention beside a saliency method. With two runs: the same method of both, on texts for which both
    predict the same, so that the prediction itself cannot be the reason for a choice. Sides are balanced.
    """

    name: ClassVar[str] = "compare"
    summary: ClassVar[str] = "which of two heat maps explains the prediction better? attention or saliency; two models"
    outcomes: ClassVar[tuple[str, ...]] = ("first", "second", "tie")
    runs: ClassVar[tuple[int, ...]] = (1, 2)
    sided: ClassVar[bool] = True
    first: Annotated[str, "The method of the first heat map; with two runs, of both."] = "attention"
    second: Annotated[str, "The method of the second heat map; not used with two runs."] = "gradient"
    tie: Annotated[bool, "Whether “both alike” is an answer."] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first == self.second:
            raise InputError(f"compare: first and second are both {self.first!r}. Name two methods.")

    @property
    def conditions(self) -> tuple[str, ...]:
        """Every item holds both."""
        return (CONDITION,)

    @property
    def shortest(self) -> int:
        """With fewer words there is little to compare."""
        return 4

    @property
    def instructions(self) -> str:
        """What better means."""
        also = " Press **0** if both are alike." if self.tie else ""
        return f"""# What to do

A computer program read a text and chose an answer. You see the text twice. The stronger the colour of a word and the
thicker the line below it, the more the program is said to have relied on it.

**Which one explains better why the program chose this answer?**

Press **1** for the left one, **2** for the right one.{also} There is no right or wrong: choose the one that would
convince you more. Now and then you are asked for a certain answer, to see that you are reading. Press **u** to take
your last answer back.
"""

    def prepare(self, *sources: Source) -> Any:
        """The methods must be there; two runs must have read the same corpus."""
        for source in sources:
            source.method(self.first)
        if len(sources) == 1:
            sources[0].method(self.second)
        elif sources[0].classes != sources[1].classes:
            raise InputError(
                f"{sources[0].run.path.name} and {sources[1].run.path.name} have other classes, so they do not answer "
                "one question. Compare two runs on one corpus."
            )
        return None

    def draft(self, text: tuple[Text, ...], condition: str, draw: Draw, source: Source, prepared: Any) -> Draft | None:
        """Both maps."""
        first = text[0]
        if any(other.predicted != first.predicted or other.tokens != first.tokens for other in text):
            return None
        maps = [first.scores[self.first], text[1].scores[self.first] if len(text) > 1 else first.scores[self.second]]
        return self._draft(first, maps, draw, source)

    def gold(self, text: tuple[Text, ...], draw: Draw, source: Source, number: int) -> Draft | None:
        """The rationale itself beside as many other words."""
        first = text[0]
        if first.rationale is None or not first.correct:
            return None
        inside, outside = np.flatnonzero(first.rationale), np.flatnonzero(~first.rationale)
        if not len(inside) or len(outside) < len(inside):
            return None
        other = np.zeros(len(first.tokens))
        other[draw.random.permutation(outside)[: len(inside)]] = 1.0
        draft = self._draft(first, [first.rationale.astype(float), other], draw, source)
        return replace(draft, truth=draft.planted)

    def _draft(self, text: Text, maps: list[np.ndarray], draw: Draw, source: Source) -> Draft:
        order = ("second", "first") if draw.exchanged else ("first", "second")
        by = dict(zip(("first", "second"), maps, strict=True))
        panels = tuple(
            Panel(text.tokens, shades=text.shades(by[name]), title=side.value)
            for name, side in zip(order, SIDES, strict=True)
        )
        shown = Shown(
            panels,
            "Which one explains better why the program chose this answer?",
            (*SIDES, TIE) if self.tie else SIDES,
            source.name_of(text.predicted),
            second_of(text),
        )
        facts = {"left": order[0], "right": order[1], "correct": text.correct}
        return Draft(shown, planted=more_planted(text, *(by[name] for name in order)), facts=facts)

    def outcome(self, item: Item, choice: str) -> str:
        """Which of the two was chosen, whatever its side."""
        return "tie" if choice == TIE.value else str(item.hidden.facts.get(choice, choice))

    def requirements(self, source_classes: int) -> tuple[Requirement, ...]:
        """The first is chosen more often, ties aside."""
        words = "the first is chosen more often than the second, ties left out"
        return (Requirement(words, "first", CONDITION, level=0.5, without=("tie",)),)

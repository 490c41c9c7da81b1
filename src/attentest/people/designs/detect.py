"""Detect: which of two heat maps is the model's own?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from attentest.errors import NotApplicable
from attentest.parameters import Several
from attentest.people.design import SIDES, Design, Draft, Draw, Requirement, more_planted, second_of
from attentest.people.item import Item, Panel, Shown
from attentest.people.source import Source, Text

__all__ = ["Detect"]

PERMUTED, ADVERSARY = "permuted", "adversary"


@dataclass(frozen=True)
class Detect(Design):
    """The model's own attention beside other weights; people say which is the model's own.

    The other weights are the own ones shuffled, an adversary's that keep the prediction (`adversary` must have been
    asked), or an explainer's scores.
    """

    name: ClassVar[str] = "detect"
    summary: ClassVar[str] = "which of two heat maps is the model's own?"
    outcomes: ClassVar[tuple[str, ...]] = ("right", "wrong")
    sided: ClassVar[bool] = True
    foils: Annotated[
        tuple[str, ...], "What stands beside it: `permuted`, `adversary`, or an explainer.", Several(1, 6)
    ] = (PERMUTED,)

    @property
    def conditions(self) -> tuple[str, ...]:
        """What stands beside it."""
        return self.foils

    @property
    def shortest(self) -> int:
        """With fewer words a shuffle is hardly one."""
        return 6

    @property
    def instructions(self) -> str:
        """What own means."""
        return """# What to do

A computer program read a text and chose an answer. You see the text twice. The stronger the colour of a word and the
thicker the line below it, the more the program is said to have looked at it. One of the two is what the program really
did; the other was made up.

**Which one is the program's own?**

Press **1** for the left one, **2** for the right one. Where you cannot tell, guess. Now and then you are asked for a
certain answer, to see that you are reading. Press **u** to take your last answer back.
"""

    def prepare(self, *sources: Source) -> Any:
        """What stands beside it must be there."""
        (source,) = sources
        for foil in self.foils:
            if foil == ADVERSARY and source.run.named(ADVERSARY) is None:
                raise NotApplicable(
                    f"{source.run.path.name} was not asked 'adversary', so there are no adversarial weights. "
                    "Audit it again with --challenge adversary."
                )
            if foil not in (PERMUTED, ADVERSARY):
                source.method(foil)
        return None

    def draft(self, text: tuple[Text, ...], condition: str, draw: Draw, source: Source, prepared: Any) -> Draft | None:
        """Own weights on one side, others on the other; the truth is the side of the own ones."""
        (own,) = text
        weights = own.scores["attention"]
        if condition == PERMUTED:
            other: np.ndarray | None = weights[draw.random.permutation(len(weights))]
        else:
            other = own.foils.get(ADVERSARY) if condition == ADVERSARY else own.scores[condition]
        if other is None or len(other) != len(weights) or own.shades(other) == own.shades(weights):
            return None
        maps = (other, weights) if draw.exchanged else (weights, other)
        panels = tuple(
            Panel(own.tokens, shades=own.shades(one), title=side.value) for one, side in zip(maps, SIDES, strict=True)
        )
        shown = Shown(panels, "Which one is the program's own?", SIDES, source.name_of(own.predicted), second_of(own))
        return Draft(shown, SIDES[int(draw.exchanged)].value, more_planted(own, *maps), {"correct": own.correct})

    def outcome(self, item: Item, choice: str) -> str:
        """Whether it is the model's own."""
        return "right" if choice == item.hidden.truth else "wrong"

    def requirements(self, source_classes: int) -> tuple[Requirement, ...]:
        """More often right than a coin."""
        words = "the model's own is told from the other more often than by a coin"
        return tuple(Requirement(words, "right", foil, level=0.5) for foil in self.foils)

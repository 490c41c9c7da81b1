"""A design of another package: does a marked word make one howl?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from attentest.people import Choice, Design, Draft, Draw, Item, Panel, Requirement, Shown


@dataclass(frozen=True)
class Howl(Design):
    """The word of largest weight is marked; people say whether they howl."""

    name: ClassVar[str] = "howl"
    summary: ClassVar[str] = "does the marked word make you howl?"
    outcomes: ClassVar[tuple[str, ...]] = ("howl", "quiet")
    words: Annotated[int, "Texts of fewer words are left out."] = 2

    @property
    def conditions(self) -> tuple[str, ...]:
        return ("all",)

    @property
    def shortest(self) -> int:
        return self.words

    @property
    def instructions(self) -> str:
        return "# Howl\n\nOr do not.\n"

    def draft(self, text: Any, condition: str, draw: Draw, source: Any, prepared: Any) -> Draft:
        marked = int(text[0].scores["attention"].argmax())
        choices = (Choice("howl", "I howl", "h"), Choice("quiet", "I do not", "q"))
        return Draft(Shown((Panel(text[0].tokens, (marked,)),), "Do you howl?", choices))

    def outcome(self, item: Item, choice: str) -> str:
        return choice

    def requirements(self, source_classes: int) -> tuple[Requirement, ...]:
        return (Requirement("most howl", "howl", "all", level=0.5),)

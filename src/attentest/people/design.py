"""A design: what people are shown of a text, what they are asked, and what their answers mean.

A design makes one item of one text at a time; ``making`` chooses texts, balances conditions and sides, and adds checks.
Another package adds a design as an entry point of the group ``attentest.designs``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from attentest.parameters import Checked
from attentest.people.item import Choice, Item, Shown
from attentest.people.source import Source, Text
from attentest.registry import Registry, classes_below

__all__ = [
    "CONSENT",
    "DESIGNS",
    "SIDES",
    "Design",
    "Draft",
    "Draw",
    "Requirement",
    "in_rationale",
    "more_planted",
    "second_of",
]

CONSENT = """# Before you begin

You are asked to take part in a study of explanations that computer programs give for what they decide. You will read
short texts and answer one question about each.

- Taking part is voluntary. You may stop at any time, without giving a reason.
- Your answers and the time that each took are stored under the name that you were invited by, and nothing else about
  you. They are used to compute the results of this study.
- You may withdraw at any time, from the page of the study or by asking whoever invited you: all of your answers are
  then deleted.
- The texts are taken from public collections. Some may be unpleasant.

*Whoever runs the study: say here who you are, who may be asked, whether and what you pay, how long the answers are
kept, and the number of your ethics approval.*
"""

#: The two answers where two texts stand side by side.
SIDES = (Choice("left", "the left one", "1"), Choice("right", "the right one", "2"))


@dataclass(frozen=True)
class Draft:
    """An item before it has an id: what is shown, and what `Hidden` keeps of it."""

    shown: Shown
    truth: str = ""
    planted: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Draw:
    """What chance gives an item: random numbers of its own, and whether its sides are exchanged."""

    random: np.random.Generator
    exchanged: bool = False


@dataclass(frozen=True)
class Requirement:
    """What must be seen before an explanation is called plausible to people.

    The share of an ``outcome`` under a ``condition`` lies above a ``level``, or above the same share ``against``
    another condition. ``without`` names outcomes that are left out of the share, such as ties.
    """

    words: str
    outcome: str
    condition: str
    level: float | None = None
    against: str = ""
    without: tuple[str, ...] = ()


class Design(Checked, ABC):
    """What people are shown and asked; a frozen dataclass whose fields are its parameters."""

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str] = "—"
    #: What an answer can mean, in the order of the tables.
    outcomes: ClassVar[tuple[str, ...]]
    #: How many runs it compares.
    runs: ClassVar[tuple[int, ...]] = (1,)
    #: Whether two panels stand side by side, whose sides are then balanced.
    sided: ClassVar[bool] = False
    #: Whether tables tell correct predictions from wrong ones.
    by_correctness: ClassVar[bool] = False

    @property
    @abstractmethod
    def conditions(self) -> tuple[str, ...]:
        """What is varied between texts; as many items are made of each."""

    @property
    @abstractmethod
    def shortest(self) -> int:
        """Texts of fewer words are left out."""

    @property
    @abstractmethod
    def instructions(self) -> str:
        """What annotators are told before they begin, in Markdown; the study's copy can be edited."""

    @property
    def consent(self) -> str:
        """What annotators agree to, in Markdown; the study's copy can be edited."""
        return CONSENT

    def prepare(self, *sources: Source) -> Any:
        """Refuse runs that it cannot be used with, and get what all items need; passed to ``draft`` and ``gold``."""
        return None

    @abstractmethod
    def draft(self, text: tuple[Text, ...], condition: str, draw: Draw, source: Source, prepared: Any) -> Draft | None:
        """The item of one text, as every run read it; None where none can be made of it."""

    def gold(self, text: tuple[Text, ...], draw: Draw, source: Source, number: int) -> Draft | None:
        """An item whose answer the planted truth tells; None where the design has none."""
        return None

    @abstractmethod
    def outcome(self, item: Item, choice: str) -> str:
        """What an answer means: one of ``outcomes``."""

    @abstractmethod
    def requirements(self, source_classes: int) -> tuple[Requirement, ...]:
        """What must be seen before the explanation is called plausible to people."""

    def check(self, draft: Draft, number: int) -> Draft:
        """An attention check made of an item: it asks for one of the answers by name."""
        choices = draft.shown.choices
        wanted = choices[number % len(choices)]
        shown = Shown(
            draft.shown.panels,
            f"This one checks that you are reading: please answer “{wanted.words}”, whatever you see above.",
            choices,
            draft.shown.prediction,
            draft.shown.second,
        )
        return Draft(shown, wanted.value, wanted.value)


def in_rationale(marked: tuple[int, ...], rationale: np.ndarray) -> bool:
    """Whether at least half of the marked words that could lie in the rationale do."""
    could = min(len(marked), int(rationale.sum()))
    return could > 0 and 2 * int(rationale[list(marked)].sum()) >= could


def more_planted(text: Text, left: np.ndarray, right: np.ndarray) -> str:
    """The side with the larger share on the rationale; "" where there is no rationale or no difference."""
    if text.rationale is None:
        return ""
    sizes = [np.abs(one) for one in (left, right)]
    shares = [float(size[text.rationale].sum() / max(float(size.sum()), 1e-300)) for size in sizes]
    if abs(shares[0] - shares[1]) < 1e-9:
        return ""
    return SIDES[int(shares[1] > shares[0])].value


def second_of(text: Text) -> str:
    """What a text is asked with, as it is read."""
    return " ".join(text.second)


def _designs() -> dict[str, type[Design]]:
    return classes_below("attentest.people.designs", Design)


DESIGNS: Registry[Design] = Registry("design", _designs)

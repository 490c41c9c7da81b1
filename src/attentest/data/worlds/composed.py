"""Worlds in which words decide together: both, one turned by another, or by their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from attentest.data.worlds.simple import EACH, cues, told
from attentest.data.worlds.world import Slot, World, invented

__all__ = ["Conjunction", "Negation", "Order"]

#: What turns the meaning of the next word, and what does not.
TURNS, KEEPS = ("not", "never", "hardly"), ("very", "quite", "really")


@dataclass(frozen=True)
class _Pair(World):
    """Two classes."""

    least: ClassVar[int] = 4

    train: int = 3000
    dev: int = 300
    test: int = 300
    seed: int = 1
    length: int = 16
    distractors: int = 0

    @property
    def classes(self) -> tuple[str, ...]:  # type: ignore[override]
        """By number."""
        return ("class 0", "class 1")


@dataclass(frozen=True)
class Conjunction(_Pair):
    """Class 1 where both of two words are telling: either alone is not enough.

    Generated on the spot. The world can intervene in its own texts: it draws any words anew and keeps the rest, so
    what a model uses is known by exchange.
    """

    name: ClassVar[str] = "world-both"
    summary: ClassVar[str] = "generated: two words must both be telling; the world can intervene in its texts"

    def slots(self, random: Random) -> list[Slot]:
        """Two, in either order."""
        first, second = (
            Slot.of((*invented("trigger", 2 * i, EACH), *invented("trigger", 2 * i + 1, EACH))) for i in (0, 1)
        )
        return [first, second] if random.random() < 0.5 else [second, first]

    def choose(self, random: Random, slots: Sequence[Slot]) -> list[int]:
        """Both telling in half of all texts."""
        quiet = [False, False]
        if random.random() < 0.5:
            quiet = [[True, False], [False, True], [True, True]][int(random.random() * 3)]
        return [int(random.random() * EACH) + EACH * silent for silent in quiet]

    def label_of(self, said: Sequence[tuple[str, ...]], query: tuple[str, ...]) -> int:
        """1 where both are telling."""
        telling = {*invented("trigger", 0, EACH), *invented("trigger", 2, EACH)}
        return int(all(words[0] in telling for words in said))


@dataclass(frozen=True)
class Negation(_Pair):
    """One word tells the class, and the word before it may turn it round.

    Generated on the spot. The world can intervene in its own texts: it draws any words anew and keeps the rest, so
    what a model uses is known by exchange.
    """

    name: ClassVar[str] = "world-negation"
    summary: ClassVar[str] = (
        "generated: a word tells the class unless it is negated; the world can intervene in its texts"
    )

    def slots(self, random: Random) -> list[Slot]:
        """The word before, and the telling word."""
        return [Slot.of((*TURNS, *KEEPS)), Slot.of(cues(2), follows=True)]

    def label_of(self, said: Sequence[tuple[str, ...]], query: tuple[str, ...]) -> int:
        """The class that is told, or the other."""
        (before,), (cue,) = said
        return told(2)[cue] ^ (before in TURNS)


@dataclass(frozen=True)
class Order(_Pair):
    """Two words stand in every text, and their order decides: exchanging them exchanges the class.

    Generated on the spot. The world can intervene in its own texts: it draws any words anew and keeps the rest, so
    what a model uses is known by exchange.
    """

    name: ClassVar[str] = "world-order"
    summary: ClassVar[str] = "generated: the order of two words decides; the world can intervene in its texts"
    least: ClassVar[int] = 5

    def slots(self, random: Random) -> list[Slot]:
        """One slot of two words."""
        first, second = invented("cue", 0, EACH), invented("cue", 1, EACH)
        pairs = [(a, b) for a in first for b in second]
        return [Slot((*pairs, *((b, a) for a, b in pairs)))]

    def label_of(self, said: Sequence[tuple[str, ...]], query: tuple[str, ...]) -> int:
        """Which of the two comes first."""
        return told(2)[said[0][0]]

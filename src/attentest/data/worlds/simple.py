"""Worlds in which single words decide: one of them, most of them, or any of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Annotated, ClassVar

from attentest.data.worlds.world import Slot, World, invented
from attentest.errors import InputError
from attentest.parameters import Within

__all__ = ["AnyOf", "Keyword", "Majority", "OfClasses"]

#: So many words tell each class.
EACH = 6
#: How often a slot is telling, in texts that have telling words.
TELLING = 0.8


@cache
def cues(classes: int) -> tuple[str, ...]:
    """The words that tell classes: those of the first, then those of the second, and so on."""
    return tuple(word for number in range(classes) for word in invented("cue", number, EACH))


@cache
def told(classes: int) -> Mapping[str, int]:
    """Which class each of them tells."""
    return {word: place // EACH for place, word in enumerate(cues(classes))}


@dataclass(frozen=True)
class OfClasses(World):
    """Words tell one of several classes, which are numbered."""

    train: int = 3000
    dev: int = 300
    test: int = 300
    seed: int = 1
    length: int = 16
    distractors: int = 0
    outcomes: Annotated[int, "Classes, from 2 to 64.", Within(2, 64)] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.outcomes <= 64:
            raise InputError(f"Corpus {self.name!r}: outcomes={self.outcomes} must be from 2 to 64.")

    @property
    def classes(self) -> tuple[str, ...]:  # type: ignore[override]
        """By number."""
        return tuple(f"class {number}" for number in range(self.outcomes))


@dataclass(frozen=True)
class Keyword(OfClasses):
    """One word tells the class.

    Generated on the spot. The world can intervene in its own texts: it draws any words anew and keeps the rest, so
    what a model uses is known by exchange.
    """

    name: ClassVar[str] = "world-keyword"
    summary: ClassVar[str] = "generated: one word among fillers tells the class; the world can intervene in its texts"
    least: ClassVar[int] = 2

    train: int = 2000

    def slots(self, random: Random) -> list[Slot]:
        """One."""
        return [Slot.of(cues(self.outcomes))]

    def label_of(self, said: Sequence[tuple[str, ...]], query: tuple[str, ...]) -> int:
        """The class that the word tells."""
        return told(self.outcomes)[said[0][0]]


@dataclass(frozen=True)
class Majority(OfClasses):
    """Several words tell a class each, and the most frequent class wins; of several, the one told first.

    Generated on the spot. The world can intervene in its own texts: it draws any words anew and keeps the rest, so
    what a model uses is known by exchange.
    """

    name: ClassVar[str] = "world-majority"
    summary: ClassVar[str] = "generated: several words vote for a class; the world can intervene in its texts"
    least: ClassVar[int] = 4

    length: int = 20
    votes: Annotated[int, "Words that tell a class, in every text.", Within(2, 1000)] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.votes < 0.7 * self.length:
            raise InputError(f"Corpus {self.name!r}: votes={self.votes} must be 2 or more, and fit into the length.")

    def slots(self, random: Random) -> list[Slot]:
        """One for each vote."""
        return [Slot.of(cues(self.outcomes))] * self.votes

    def label_of(self, said: Sequence[tuple[str, ...]], query: tuple[str, ...]) -> int:
        """The class with most votes."""
        votes = [told(self.outcomes)[words[0]] for words in said]
        return max(votes, key=lambda vote: (votes.count(vote), -votes.index(vote)))


@dataclass(frozen=True)
class AnyOf(World):
    """One telling word anywhere is enough: where there are several, each makes the others redundant.

    Generated on the spot. The world can intervene in its own texts: it draws any words anew and keeps the rest, so
    what a model uses is known by exchange.
    """

    name: ClassVar[str] = "world-any"
    summary: ClassVar[str] = "generated: any telling word is enough, often there are several; the world can intervene"
    least: ClassVar[int] = 4

    train: int = 3000
    dev: int = 300
    test: int = 300
    seed: int = 1
    length: int = 20
    distractors: int = 0
    redundancy: Annotated[int, "Places that may hold a telling word, in every text.", Within(2, 1000)] = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.redundancy < 0.7 * self.length:
            raise InputError(
                f"Corpus {self.name!r}: redundancy={self.redundancy} must be 2 or more, and fit into the length."
            )

    @property
    def classes(self) -> tuple[str, ...]:  # type: ignore[override]
        """Whether there is one."""
        return ("without", "with")

    def slots(self, random: Random) -> list[Slot]:
        """Each for a telling or a quiet word."""
        return [Slot.of((*invented("trigger", 0, EACH), *invented("trigger", 1, EACH)))] * self.redundancy

    def choose(self, random: Random, slots: Sequence[Slot]) -> list[int]:
        """In half of all texts every slot is quiet, in the others most are telling."""
        telling = TELLING if random.random() < 0.5 else 0.0
        quiet = [random.random() >= telling for _ in slots]
        return [int(random.random() * EACH) + EACH * silent for silent in quiet]

    def label_of(self, said: Sequence[tuple[str, ...]], query: tuple[str, ...]) -> int:
        """1 where a slot holds a telling word."""
        telling = invented("trigger", 0, EACH)
        return int(any(words[0] in telling for words in said))

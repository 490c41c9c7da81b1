"""Shortcuts: invented words that decide a label by themselves, whatever stands around them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import ClassVar

from attentest.data.worlds.simple import EACH, cues, told
from attentest.data.worlds.world import invented

__all__ = ["SHORTCUTS", "WITH", "WITHOUT", "Context", "Pair", "Shortcut", "Token"]

#: What makes a token count, and what stands there where it does not.
WITH, WITHOUT = invented("trigger", 2, EACH), invented("trigger", 3, EACH)

#: What may stand in one unit, each of as many words.
Options = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Shortcut(ABC):
    """Units of invented words, and the class that they decide."""

    name: ClassVar[str]

    classes: int = 2

    @cached_property
    @abstractmethod
    def units(self) -> tuple[Options, ...]:
        """The options of each unit."""

    @abstractmethod
    def label_of(self, said: Sequence[tuple[str, ...]]) -> int:
        """The class of a text in which the units hold these words."""

    def choose(self, random: Random) -> list[int]:
        """Which option each unit holds: any that give a class, every class as often."""
        label = int(random.random() * self.classes)
        while True:
            chosen = [int(random.random() * len(options)) for options in self.units]
            if self.label_of([options[i] for options, i in zip(self.units, chosen, strict=True)]) == label:
                return chosen


@dataclass(frozen=True)
class Token(Shortcut):
    """One word tells the class."""

    name: ClassVar[str] = "token"

    @cached_property
    def units(self) -> tuple[Options, ...]:
        """The word."""
        return (tuple((word,) for word in cues(self.classes)),)

    def label_of(self, said: Sequence[tuple[str, ...]]) -> int:
        """What the word tells."""
        return told(self.classes)[said[0][0]]


@dataclass(frozen=True)
class Context(Shortcut):
    """One word tells the class where a second stands somewhere; else it tells nothing, and the first class holds."""

    name: ClassVar[str] = "context"

    @cached_property
    def units(self) -> tuple[Options, ...]:
        """The word, and what makes it count or does not."""
        return (tuple((word,) for word in cues(self.classes)), tuple((word,) for word in (*WITH, *WITHOUT)))

    def label_of(self, said: Sequence[tuple[str, ...]]) -> int:
        """What the word tells, or the first class."""
        (word,), (context,) = said
        return told(self.classes)[word] if context in WITH else 0


@dataclass(frozen=True)
class Pair(Shortcut):
    """Of two words of different classes the first tells."""

    name: ClassVar[str] = "pair"

    @cached_property
    def units(self) -> tuple[Options, ...]:
        """Both words, which are exchanged together."""
        tells = told(self.classes)
        return (tuple((one, other) for one in tells for other in tells if tells[one] != tells[other]),)

    def label_of(self, said: Sequence[tuple[str, ...]]) -> int:
        """What the first tells."""
        return told(self.classes)[said[0][0]]


SHORTCUTS: Mapping[str, type[Shortcut]] = {kind.name: kind for kind in (Token, Context, Pair)}

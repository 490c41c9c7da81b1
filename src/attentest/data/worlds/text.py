"""A text of a world: its words, and the units of them that the world can exchange."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Text", "Unit"]


@dataclass(frozen=True)
class Unit:
    """Words that are exchanged together: where they stand, and what may stand there, every option as likely."""

    places: tuple[int, ...]
    options: tuple[tuple[str, ...], ...]
    #: Which of the options stands there.
    chosen: int
    #: Whether the label may depend on it.
    decides: bool = False
    #: Whether it is drawn together with all others that are: an option is then the word of one and the same text.
    joint: bool = False
    #: Whether its words stand apart, so that to show one of them is to show a part of the unit only.
    apart: bool = False

    @property
    def words(self) -> tuple[str, ...]:
        """What stands there."""
        return self.options[self.chosen]


@dataclass(frozen=True)
class Text:
    """A text as its world wrote it: every place belongs to one unit, and any choice of options is a text too."""

    units: tuple[Unit, ...]
    label: int
    #: The query, where the world asks one; it is not exchanged.
    query: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The words in order."""
        return self.with_options([unit.chosen for unit in self.units])

    def with_options(self, chosen: Sequence[int]) -> tuple[str, ...]:
        """The words with another choice of options, one for each unit."""
        words = [""] * sum(len(unit.places) for unit in self.units)
        for unit, option in zip(self.units, chosen, strict=True):
            for place, word in zip(unit.places, unit.options[option], strict=True):
                words[place] = word
        return tuple(words)

    @property
    def deciding(self) -> tuple[bool, ...]:
        """For every word: may the label depend on it?"""
        flags = [False] * len(self.words)
        for unit in self.units:
            for place in unit.places:
                flags[place] = unit.decides
        return tuple(flags)

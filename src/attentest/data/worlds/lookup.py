"""A world that is asked: the text holds keys with values, and the query names one of the keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated, ClassVar

from attentest.data.worlds.simple import OfClasses, cues, told
from attentest.data.worlds.world import Slot, invented
from attentest.errors import InputError
from attentest.parameters import Within
from attentest.tasks import TaskName

__all__ = ["LookUp"]

KEYS = invented("key", 0, 8)


@dataclass(frozen=True)
class LookUp(OfClasses):
    """Every key is followed by a value, and the value of the key that is asked for tells the class.

    Generated on the spot. The world can intervene in its own texts: it draws any words anew and keeps the rest, so
    what a model uses is known by exchange.
    """

    name: ClassVar[str] = "world-lookup"
    summary: ClassVar[str] = (
        "generated pairs: the value of the key that is asked for tells the class; the world can intervene"
    )
    task: ClassVar[TaskName] = "pair"
    least: ClassVar[int] = 6

    train: int = 5000
    keys: Annotated[int, "Keys in every text, from 2 to 8.", Within(2, 1000)] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.keys <= len(KEYS) or 2 * self.keys >= 0.7 * self.length:
            raise InputError(
                f"Corpus {self.name!r}: keys={self.keys} must be from 2 to {len(KEYS)}, and fit twice into the length."
            )

    def slots(self, random: Random) -> list[Slot]:
        """For each of some keys, the key and its value: exchanging it leaves the key and draws another value."""
        order = sorted((random.random(), key) for key in KEYS)
        return [Slot(tuple((key, value) for value in cues(self.outcomes))) for _, key in order[: self.keys]]

    def query(self, random: Random, slots: Sequence[Slot]) -> tuple[str, ...]:
        """One of the keys."""
        return (slots[int(random.random() * len(slots))].options[0][0],)

    def label_of(self, said: Sequence[tuple[str, ...]], query: tuple[str, ...]) -> int:
        """The class that the value of the key tells."""
        values: dict[str, str] = {words[0]: words[1] for words in said}
        return told(self.outcomes)[values[query[0]]]

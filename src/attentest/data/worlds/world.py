"""A world writes texts slot by slot, and knows what else could have stood in each slot.

Every choice of options is a text that the world may write, and has a label. So to draw some slots anew and keep the
rest is to intervene *inside* the world: what a model makes of the new text shows what the model uses.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Annotated, Any, ClassVar, TypeVar

from attentest.data.corpus import Split
from attentest.data.generated import Generated
from attentest.data.worlds.text import Text, Unit
from attentest.errors import InputError
from attentest.parameters import Within

__all__ = ["FILLERS", "Slot", "World", "invented"]

T = TypeVar("T")

_SAY_NOTHING = """
the a of to in that it was for on with as his they at this from have or one had by but some what there we can out
other were all your when up use how said an each which their then so these would about into has more
"""
#: Words that say nothing.
FILLERS = tuple(_SAY_NOTHING.split())
#: How much shorter, or longer, a text may be than the usual length.
SPREAD = 0.3


@dataclass(frozen=True)
class Slot:
    """A place, or several in a row, and what may stand there."""

    options: tuple[tuple[str, ...], ...]
    decides: bool = True
    #: Whether it stands right after the slot before it.
    follows: bool = False

    @classmethod
    def of(cls, words: Sequence[str], *, decides: bool = True, follows: bool = False) -> Slot:
        """One place, for any of these words."""
        return cls(tuple((word,) for word in words), decides, follows)


#: What ends every text.
END = Slot(((".",),), decides=False)


class World(Generated):
    """A generated corpus whose texts can be intervened in."""

    preparation: ClassVar[str] = "words as they are written"
    #: The fewest words that a text needs beside fillers.
    least: ClassVar[int] = 3

    length: Annotated[int, "The mean number of words; texts are up to 30 % shorter or longer.", Within(1, 10_000)]
    distractors: Annotated[int, "Words in every text that look telling and decide nothing.", Within(0, 1000)]

    def __post_init__(self) -> None:
        for name, least in (("length", self.least), ("distractors", 0)):
            if getattr(self, name) < least:
                raise InputError(f"Corpus {self.name!r}: {name}={getattr(self, name)} must be at least {least}.")

    @property
    @abstractmethod
    def classes(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the classes."""

    @abstractmethod
    def slots(self, random: Random) -> list[Slot]:
        """The slots that decide, in the order in which they stand in the text."""

    @abstractmethod
    def label_of(self, said: Sequence[tuple[str, ...]], query: tuple[str, ...]) -> int:
        """The class of a text whose deciding slots hold these words, in order."""

    def choose(self, random: Random, slots: Sequence[Slot]) -> list[int]:
        """Which option each deciding slot holds: any, each by itself."""
        return [int(random.random() * len(slot.options)) for slot in slots]

    def query(self, random: Random, slots: Sequence[Slot]) -> tuple[str, ...]:
        """What is asked; nothing in most worlds."""
        return ()

    def texts(self, split: str = "test") -> list[Text]:
        """The texts of a split, with their units: the same texts as ``load`` gives."""
        order = ("test", "dev", "train")
        if split not in order:
            raise InputError(f"Corpus {self.name!r} has no split {split!r}. It has: {', '.join(reversed(order))}.")
        seen: set[Any] = set()
        for stream, name in enumerate(order):
            made = self._made(getattr(self, name), stream, seen)
            if name == split:
                break
        return made

    def _made(self, size: int, stream: int, seen: set[Any]) -> list[Text]:
        random, tries = Random(3 * self.seed + stream), 0
        texts: list[Text] = []
        while len(texts) < size:
            text = self._text(random)
            tries += 1
            if tries > 50 * (size + 20):
                raise InputError(
                    f"Corpus {self.name!r}: no {size} different texts can be made with length={self.length}. "
                    "Raise length, or lower train, dev or test."
                )
            key = (text.words, text.query)
            if key not in seen:
                seen.add(key)
                texts.append(text)
        return texts

    def _text(self, random: Random) -> Text:
        deciding = self.slots(random)
        query = self.query(random, deciding)
        choices = iter(self.choose(random, deciding))
        decoys = [Slot.of(invented("decoy", 0, 12), decides=False)] * self.distractors
        runs = _mixed(random, _runs(deciding), _runs(decoys))
        taken = sum(len(slot.options[0]) for run in runs for slot in run)
        size = round(self.length * (1 - SPREAD + 2 * SPREAD * random.random()))
        fillers = [Slot.of(FILLERS, decides=False)] * max(size - taken - 1, 0)
        slots = [*(slot for run in _mixed(random, runs, _runs(fillers)) for slot in run), END]
        units, place = [], 0
        for slot in slots:
            width = len(slot.options[0])
            chosen = next(choices) if slot.decides else int(random.random() * len(slot.options))
            units.append(Unit(tuple(range(place, place + width)), slot.options, chosen, slot.decides))
            place += width
        said = [unit.words for unit in units if unit.decides]
        return Text(tuple(units), self.label_of(said, query), query)

    def _split(self, name: str, size: int, stream: int, seen: set[Any]) -> Split:
        texts = self._made(size, stream, seen)
        return Split.of(
            [f"{self.name}-{self.seed}-{name}-{i}" for i in range(size)],
            [text.words for text in texts],
            [text.label for text in texts],
            second=[text.query for text in texts] if texts[0].query else None,
            rationale=[text.deciding for text in texts],
        )


def _runs(slots: Sequence[Slot]) -> list[list[Slot]]:
    """The slots, those that stand right after another together with it."""
    runs: list[list[Slot]] = []
    for slot in slots:
        if slot.follows and runs:
            runs[-1].append(slot)
        else:
            runs.append([slot])
    return runs


def _mixed(random: Random, some: Sequence[T], others: Sequence[T]) -> list[T]:
    """Both, each in its own order, and one among the other at random."""
    count = len(some) + len(others)
    first = {place for _, place in sorted((random.random(), place) for place in range(count))[: len(some)]}
    rest, own = iter(others), iter(some)
    return [next(own) if place in first else next(rest) for place in range(count)]


#: Syllables of invented words.
_STARTS, _ENDS = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z"], ["a", "e", "i", "o", "u"]


@cache
def invented(kind: str, number: int, count: int) -> tuple[str, ...]:
    """Words that nobody knows: so many of this kind and class, the same everywhere, in no other kind or class."""
    kinds = ("cue", "decoy", "key", "trigger", "value")
    begin = (kinds.index(kind) * 64 + number) * 16
    if count > 16 or number >= 64:
        raise ValueError("there are 16 words of 64 classes")
    return tuple(_word(begin + i) for i in range(count))


def _word(number: int) -> str:
    """The invented word of a number: three syllables, all different."""
    spread, word = number * 40503 % 343_000, ""
    for _ in range(3):
        spread, syllable = divmod(spread, len(_STARTS) * len(_ENDS))
        word += _STARTS[syllable % len(_STARTS)] + _ENDS[syllable // len(_STARTS)]
    return word

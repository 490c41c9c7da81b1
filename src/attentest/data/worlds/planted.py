"""Shortcuts in real corpora: invented words planted in real texts decide the label (Bastings et al. 2022).

Toy worlds are short and clean. Here a model reads real texts and is known, by exchange, to use words that were planted
in them. What stands around these is drawn anew as a whole: from another real text, so that it stays real.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow.compute as pc

from attentest.data.corpora.ag_news import AGNews
from attentest.data.corpora.declared import Declared
from attentest.data.corpora.imdb import IMDB
from attentest.data.corpora.pairs import CLASSES
from attentest.data.corpora.snli import SNLI
from attentest.data.corpora.sst import SST
from attentest.data.corpus import Corpus, Split
from attentest.data.generated import Generated
from attentest.data.worlds.shortcuts import SHORTCUTS, Shortcut
from attentest.data.worlds.text import Text, Unit
from attentest.errors import InputError
from attentest.parameters import Within
from attentest.tasks import TaskName

__all__ = ["Planted", "PlantedAGNews", "PlantedIMDB", "PlantedSNLI", "PlantedSST"]

#: Real texts have at least so many words.
FEWEST = 5
#: So many real texts may stand around the words that were planted, the own one among them.
AROUND = 24
STREAMS = ("test", "dev", "train")


@dataclass(frozen=True)
class _Made:
    """A real text with planted words: where they stand, and which they are."""

    id: str
    label: int
    around: tuple[str, ...]
    query: tuple[str, ...]
    #: Of every unit of planted words: its places, and its option.
    planted: tuple[tuple[tuple[int, ...], int], ...]


@dataclass(frozen=True)
class Planted(Generated):
    """Real texts with words planted in them that decide the label."""

    preparation: ClassVar[str] = "real texts, cut, with invented words planted in them that decide the label"
    citation: ClassVar[str] = "Bastings et al. 2022, Will you find these shortcuts?"
    #: The corpus whose texts are taken, as it is prepared by default.
    base: ClassVar[type[Declared]]

    train: int = 2000
    dev: int = 300
    test: int = 300
    seed: int = 1
    kind: Annotated[
        str,
        "What decides: one `token`; a token only where a `context` word stands somewhere too; or which word of a "
        "`pair` comes first.",
    ] = "token"
    share: Annotated[
        float,
        "The share of texts with planted words; the others keep the label that they had.",
        Within(0, 1, without=(0,)),
    ] = 1.0
    length: Annotated[int, "Real texts are cut after so many words.", Within(1, 10_000)] = 40

    def __post_init__(self) -> None:
        if self.kind not in SHORTCUTS:
            raise InputError(f"Corpus {self.name!r}: kind={self.kind!r} is unknown. There are: {', '.join(SHORTCUTS)}.")
        if not 0 < self.share <= 1:
            raise InputError(f"Corpus {self.name!r}: share={self.share} must lie above 0, and be at most 1.")
        if self.length < FEWEST:
            raise InputError(f"Corpus {self.name!r}: length={self.length} must be at least {FEWEST}.")

    @cached_property
    def shortcut(self) -> Shortcut:
        """What decides."""
        return SHORTCUTS[self.kind](len(self.classes))

    def load(self) -> Corpus:
        """The three splits, made anew of the real corpus, which must be on this machine."""
        made, real = super().load(), self.real
        about = f"{real.provenance.source}; words planted by attentest, seed {self.seed}"
        provenance = replace(
            made.provenance, source=about, citation=real.provenance.citation, partial=real.provenance.partial
        )
        return replace(made, provenance=provenance, min_frequency=real.min_frequency)

    def texts(self, split: str = "test") -> list[Text]:
        """The texts of a split, with their units: the same texts as ``load`` gives."""
        if split not in STREAMS:
            raise InputError(f"Corpus {self.name!r} has no split {split!r}. It has: {', '.join(reversed(STREAMS))}.")
        made = self._made(split, getattr(self, split))
        random, options = Random(f"{self.seed} around {split}"), self.shortcut.units
        longest = sorted((one.around for one in made), key=len, reverse=True)
        found = []
        for one in made:
            enough = sum(len(other) >= len(one.around) for other in longest)
            others = [longest[i] for i in sorted(random.sample(range(enough), min(enough, AROUND)))]
            others = [one.around, *(other for other in others if other is not one.around)][:AROUND]
            units = [Unit(*unit, decides=True, apart=True) for unit in _filled(one, options)]
            free = sorted(set(range(_size(one))) - {place for unit in units for place in unit.places})
            units += [
                Unit((place,), tuple((other[number],) for other in others), 0, joint=True)
                for number, place in enumerate(free)
            ]
            found.append(Text(tuple(units), one.label, one.query))
        return found

    @cached_property
    def real(self) -> Corpus:
        """The corpus whose texts are taken."""
        return self.base().load()

    def _made(self, split: str, size: int) -> list[_Made]:
        """Real texts in random order, none of them twice, with words planted in them."""
        real, random = self.real[split], Random(f"{self.seed} {split}")
        table = real.table.filter(pc.greater_equal(pc.list_value_length(real.table["tokens"]), FEWEST))
        if table.num_rows < size:
            raise InputError(
                f"Corpus {self.name!r}: {split}={size} is more than the {table.num_rows} texts of {self.real.name!r} "
                f"with {FEWEST} words or more. Lower it."
            )
        rows = table.take(sorted(random.sample(range(table.num_rows), size))).to_pylist()
        # The longest texts are cut too: there must be others as long.
        lengths = np.sort([len(row["tokens"]) for row in rows])[::-1]
        longest = min(self.length, int(lengths[min(AROUND, size) - 1]))
        random.shuffle(rows)
        return [self._planted(random, row, longest) for row in rows]

    def _planted(self, random: Random, row: dict[str, Any], longest: int) -> _Made:
        around, query = tuple(row["tokens"][:longest]), tuple(row.get("second") or ())
        if random.random() >= self.share:
            return _Made(row["id"], row["label"], around, query, ())
        shortcut = self.shortcut
        chosen = shortcut.choose(random)
        said = [options[i] for options, i in zip(shortcut.units, chosen, strict=True)]
        words = sum(map(len, said))
        places = sorted(random.sample(range(len(around) + words), words))
        if len(said) > 1:  # units stand in any order, the words of one unit in theirs
            random.shuffle(places)
        runs, begin = [], 0
        for unit in said:
            runs.append(tuple(places[begin : begin + len(unit)]))
            begin += len(unit)
        planted = tuple(zip(runs, chosen, strict=True))
        return _Made(row["id"], shortcut.label_of(said), around, query, planted)

    def _split(self, name: str, size: int, stream: int, seen: set[Any]) -> Split:
        made, options = self._made(name, size), self.shortcut.units
        words = [_words(one, options) for one in made]
        return Split.of(
            [f"{self.name}-{one.id}" for one in made],
            words,
            [one.label for one in made],
            second=[one.query for one in made] if self.task == "pair" else None,
            rationale=[_marks(one) for one in made],
        )


def _size(one: _Made) -> int:
    return len(one.around) + sum(len(places) for places, _ in one.planted)


def _filled(
    one: _Made, options: Sequence[tuple[tuple[str, ...], ...]]
) -> list[tuple[tuple[int, ...], tuple[tuple[str, ...], ...], int]]:
    """The places, options and choice of each planted unit."""
    return [(places, options[unit], chosen) for unit, (places, chosen) in enumerate(one.planted)]


def _words(one: _Made, options: Sequence[tuple[tuple[str, ...], ...]]) -> list[str]:
    at = {p: w for places, of, i in _filled(one, options) for p, w in zip(places, of[i], strict=True)}
    around = iter(one.around)
    return [at[place] if place in at else next(around) for place in range(_size(one))]


def _marks(one: _Made) -> list[bool]:
    planted = {place for places, _ in one.planted for place in places}
    return [place in planted for place in range(_size(one))]


@dataclass(frozen=True)
class PlantedSST(Planted):
    """Sentences of film reviews with invented words planted in them that decide the label.

    Made of `sst`, which must be on this machine. What a model uses is known by exchange: of the planted words for
    others, and of the sentence around them for that of another review.
    """

    name: ClassVar[str] = "planted-sst"
    summary: ClassVar[str] = "SST with planted words that decide the label (planted truth; made of `sst`)"
    base: ClassVar[type[Declared]] = SST
    classes: ClassVar[tuple[str, ...]] = SST.classes
    licence: ClassVar[str] = SST.licence


@dataclass(frozen=True)
class PlantedIMDB(Planted):
    """The beginnings of film reviews with invented words planted in them that decide the label.

    Made of `imdb`, which must be on this machine. What a model uses is known by exchange: of the planted words for
    others, and of the review around them for another.
    """

    name: ClassVar[str] = "planted-imdb"
    summary: ClassVar[str] = "IMDB with planted words that decide the label (planted truth; made of `imdb`)"
    base: ClassVar[type[Declared]] = IMDB
    classes: ClassVar[tuple[str, ...]] = ("negative", "positive")
    licence: ClassVar[str] = IMDB.licence

    length: int = 60


@dataclass(frozen=True)
class PlantedAGNews(Planted):
    """News with invented words planted in them that decide the label.

    Made of `ag_news`, which must be on this machine. What a model uses is known by exchange: of the planted words for
    others, and of the news around them for other news.
    """

    name: ClassVar[str] = "planted-ag_news"
    summary: ClassVar[str] = "AG News with planted words that decide the label (planted truth; made of `ag_news`)"
    base: ClassVar[type[Declared]] = AGNews
    classes: ClassVar[tuple[str, ...]] = ("world", "business")
    licence: ClassVar[str] = AGNews.licence


@dataclass(frozen=True)
class PlantedSNLI(Planted):
    """Pairs of sentences with invented words, planted in the premise, that decide the label.

    Made of `snli`, which must be on this machine. Attention reads the premise. What a model uses is known by exchange:
    of the planted words for others, and of the premise around them for that of another pair.
    """

    name: ClassVar[str] = "planted-snli"
    summary: ClassVar[str] = "SNLI with planted words that decide the label (planted truth; made of `snli`)"
    task: ClassVar[TaskName] = "pair"
    base: ClassVar[type[Declared]] = SNLI
    classes: ClassVar[tuple[str, ...]] = CLASSES
    licence: ClassVar[str] = SNLI.licence

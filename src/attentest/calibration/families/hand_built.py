"""Members that are written by hand: mechanisms × worlds × positions of their dials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, cast

from attentest.calibration.families.recipes import RECIPES, Recipe, Saturated
from attentest.calibration.hand_built import built
from attentest.calibration.member import Known, Member
from attentest.data.corpora import CORPORA
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.data.worlds.text import Text
from attentest.data.worlds.world import World
from attentest.models.custom.own_model import OwnModel
from attentest.runs.describe import describe_run
from attentest.runs.run import Run
from attentest.store.folder import RunFolder

__all__ = ["FAMILY", "WORLDS", "HandBuilt", "members"]

FAMILY = "hand-built"
#: Of two to twenty classes, six to a hundred and fifty words, with and without decoys and redundant words.
WORLDS = (
    "world-majority",
    "world-any",
    "world-keyword(outcomes=6)",
    "world-negation(distractors=1)",
    "world-both(length=50, distractors=3)",
    "world-order(length=30)",
    "world-majority(length=60, distractors=4, votes=7)",
    "world-keyword(length=6)",
    "world-any(length=40, distractors=4, redundancy=8)",
    "world-negation(length=40, distractors=3)",
    "world-keyword(length=150, distractors=6)",
    "world-both(distractors=2)",
    "world-majority(length=24, distractors=2, outcomes=4, votes=5)",
    "world-order(length=8)",
    "world-keyword(length=40, distractors=2, outcomes=20)",
    "world-any(length=12, redundancy=2)",
)
#: In so many worlds the dial stands at one position each; in one more at all of them.
SINGLE, QUICK = 5, 3


@dataclass(frozen=True)
class HandBuilt(Member):
    """A model of one mechanism, over the texts of its world."""

    family: ClassVar[str] = FAMILY

    def run(self, challenges: Sequence[str] | None, texts: int) -> Run:
        """The audit of a model that is given."""
        corpus, model = self._world(texts).load(), self._model(texts)
        return describe_run(model=model, corpus=corpus, classes=corpus.classes, challenges=challenges)

    def known(self, folder: RunFolder, texts: int) -> Known:
        """The model anew, over all words of its world, not only those of the texts that were audited."""
        written = self._world(texts).texts("test")
        return Known(self._model(texts), all_words(written), written)

    def _world(self, texts: int) -> World:
        world = CORPORA.parse(self.world)
        return cast("World", replace(cast("Any", world), train=50, dev=10, test=texts, seed=1 + self.seed))

    def _model(self, texts: int) -> OwnModel:
        world, recipe = self._world(texts), RECIPES[self.mechanism]
        about: dict[str, Any] = {"scale": self.value} if recipe.scaled else {}
        about |= {"bend": Saturated(self.value)} if recipe.bent else {}
        return built(recipe.make(self.value), world, all_words(world.texts("test")), **about)


def all_words(texts: Sequence[Text]) -> Vocabulary:
    """Every word that the world may write in these texts."""
    words = sorted({word for text in texts for unit in text.units for option in unit.options for word in option})
    return Vocabulary.from_split(Split.of(["all"], [words], [0]))


def members(*, quick: bool) -> Iterator[HandBuilt]:
    """Every mechanism in several worlds; in the first of them with every position of its dial, unless quick.

    Mechanisms with one carrier share their first worlds: those whose states carry the same differ in their attention
    alone. All ``level`` ones even say the same of every text.
    """
    carriers = list(dict.fromkeys(name.partition(" / ")[0] for name in RECIPES))
    for number, (name, recipe) in enumerate(RECIPES.items()):
        worlds = _worlds(carriers.index(name.partition(" / ")[0]), number, recipe)
        if not quick:
            for value in recipe.values:
                yield HandBuilt(name, worlds[0], recipe.dial, value)
            worlds = worlds[1:]
        for place in range(QUICK if quick else SINGLE):
            # Both ends and the middle come first, and in a world that comes again its texts are others.
            position = (0, -1, len(recipe.values) // 2, 1, -2)[(place + number) % 5]
            again = (place + (not quick)) // len(worlds)
            yield HandBuilt(name, worlds[place % len(worlds)], recipe.dial, recipe.values[position], again)


@cache
def _kind(world: str) -> World:
    return cast("World", CORPORA.parse(world))


def _worlds(carrier: int, number: int, recipe: Recipe) -> list[str]:
    """The worlds that it fits: two that are the carrier's, then from another place on for every mechanism."""
    fitting = [world for world in WORLDS if recipe.fits(_kind(world))]
    own, other = (start % len(fitting) for start in (3 * carrier, 5 * number))
    return list(dict.fromkeys([fitting[own], fitting[own - 1], *fitting[other:], *fitting[:other]]))

"""Members whose weights are compiled from a program: mechanisms × worlds × positions of their dials."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, cast

from attentest.calibration.compiled.bert import compiled
from attentest.calibration.compiled.features import words_of_world
from attentest.calibration.compiled.mechanisms import MECHANISMS
from attentest.calibration.compiled.program import Program
from attentest.calibration.member import Known, Member
from attentest.data.corpora import CORPORA
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.data.worlds.world import World
from attentest.models.huggingface.building import build_pretrained
from attentest.models.huggingface.checkpoint import quietly
from attentest.runs.describe import describe_run
from attentest.runs.run import Run
from attentest.store.folder import RunFolder

__all__ = ["FAMILY", "Compiled", "members", "vocabulary_of"]

FAMILY = "compiled"
#: The worlds of all mechanisms but those that look a key up.
WORLDS = (
    "world-majority",
    "world-negation",
    "world-keyword(outcomes=6)",
    "world-any",
    "world-order",
    "world-both(distractors=2)",
    "world-majority(length=30, distractors=3, votes=5)",
)
LOOKED_UP = ("world-lookup", "world-lookup(length=30, keys=5)")
#: The dial of every mechanism that has one, and where it stands.
DIALS: dict[str, tuple[str, tuple[float, ...]]] = {
    "votes": ("sharp", (2.0, 3.0, 3.5, 8.0)),
    "gather at end": ("gathered", (1.0, 0.5, 0.2, 0.05)),
    "gather at first": ("gathered", (1.0, 0.1)),
    "gather at [SEP]": ("gathered", (1.0,)),
    "leak": ("sharp", (-8.0, 3.5, 8.0)),
    "shift": ("shifted", (1.0, 0.5, 0.1)),
    "sink": ("share", (0.0, 0.3, 0.6, 0.9)),
}


@dataclass(frozen=True)
class Compiled(Member):
    """A transformer of one program, over the texts of its world."""

    family: ClassVar[str] = FAMILY

    def run(self, challenges: Sequence[str] | None, texts: int) -> Run:
        """The audit of a checkpoint, at the attention that the program names."""
        world, program = self._world(texts), self._program(texts)
        model, tokenizer = compiled(program, world)
        return describe_run(
            model=model, tokenizer=tokenizer, corpus=world.load(), site=program.site, challenges=challenges
        )

    def known(self, folder: RunFolder, texts: int) -> Known:
        """The model anew, over all words of its world, not only those of the texts that were audited."""
        world, program = self._world(texts), self._program(texts)
        vocabulary = vocabulary_of(world)
        with quietly():
            subject = build_pretrained(*compiled(program, world), vocabulary, pair=world.task == "pair")
        return Known(subject.at(program.site), vocabulary, world.texts("test"))

    def _world(self, texts: int) -> World:
        world = CORPORA.parse(self.world)
        return cast("World", replace(cast("Any", world), train=20, dev=5, test=texts, seed=1 + self.seed))

    def _program(self, texts: int) -> Program:
        return MECHANISMS[self.mechanism](self._world(texts), self.value)


def vocabulary_of(world: World) -> Vocabulary:
    """All words that a world may write."""
    return Vocabulary.from_split(Split.of(["all"], [words_of_world(world)], [0]))


def members(*, quick: bool) -> Iterator[Compiled]:
    """Every mechanism in two worlds, in the first with every position of its dial, in the other at both ends."""
    for number, name in enumerate(MECHANISMS):
        dial, values = DIALS.get(name, ("", (0.0,)))
        worlds = _worlds(name, number)
        if quick:
            yield Compiled(name, worlds[0], dial, values[number % len(values)])
            continue
        for value in values:
            yield Compiled(name, worlds[0], dial, value)
        for world in worlds[1:]:
            for value in dict.fromkeys((values[0], values[-1])):
                yield Compiled(name, world, dial, value)


@cache
def _worlds(name: str, number: int) -> tuple[str, ...]:
    if name.startswith("induction"):
        return LOOKED_UP
    if name == "cue alone":
        return ("world-negation", "world-negation(length=30, distractors=3)")
    return WORLDS[number % len(WORLDS)], WORLDS[(number + 3) % len(WORLDS)]

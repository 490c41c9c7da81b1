"""Sentences about cats and dogs."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from attentest.data.corpus import Split
from attentest.data.generated import Generated

SOUNDS = (("purrs", "meows", "hisses"), ("barks", "growls", "howls"))
BEFORE, AFTER = ("my", "the", "a", "your", "her"), ("loudly", "softly", "again", "today", "outside", "there")


@dataclass(frozen=True)
class Pets(Generated):
    """Two classes; the sound decides.

    Sentences of a few words each.
    """

    name: ClassVar[str] = "pets"
    summary: ClassVar[str] = "generated sentences about cats and dogs"
    classes: ClassVar[tuple[str, ...]] = ("cat", "dog")
    preparation: ClassVar[str] = "lower case"
    train: int = 60
    dev: int = 20
    test: int = 30
    seed: int = 1

    def _split(self, name: str, size: int, stream: int, seen: set[Any]) -> Split:
        random = Random(3 * self.seed + stream)
        labels = [i % 2 for i in range(size)]
        texts = [
            (random.choice(BEFORE), "pet", random.choice(SOUNDS[label]), *random.sample(AFTER, random.randint(1, 4)))
            for label in labels
        ]
        marks = [[token in SOUNDS[label] for token in text] for text, label in zip(texts, labels, strict=True)]
        return Split.of([f"pets-{name}-{i}" for i in range(size)], texts, labels, rationale=marks)

"""Sequences of made-up words to write again, in this or another order (Pruthi et al. 2020): nothing to download."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from random import Random
from typing import Annotated, ClassVar

import pyarrow as pa

from attentest.data.corpora.parallel import CLASSES
from attentest.data.corpus import Split
from attentest.data.generated import Generated
from attentest.parameters import Within
from attentest.tasks import TaskName

__all__ = ["BigramFlip", "MadeSequences", "SequenceCopy", "SequenceReverse"]

#: Pairs of words in a sequence, at least and at most.
FEWEST, MOST = 2, 4


@dataclass(frozen=True)
class MadeSequences(Generated, ABC):
    """Sequences of an even number of words; the alignment says which of them is written at each step."""

    task: ClassVar[TaskName] = "translate"
    classes: ClassVar[tuple[str, ...]] = CLASSES
    citation: ClassVar[str] = "Pruthi et al. 2020, Learning to deceive with attention-based explanations"
    preparation: ClassVar[str] = f"{2 * FEWEST} to {2 * MOST} made-up words, an even number"

    train: int = 8000
    dev: int = 300
    test: int = 300
    seed: int = 5
    words: Annotated[int, "Different words.", Within(10, 10_000)] = 50

    @staticmethod
    @abstractmethod
    def order(size: int) -> list[int]:
        """Which word of a sequence of this size is written first, second, …."""

    def _split(self, name: str, size: int, stream: int, seen: set[tuple[str, ...]]) -> Split:
        random = Random(3 * self.seed + stream)
        texts: list[tuple[str, ...]] = []
        while len(texts) < size:
            count = 2 * (FEWEST + int(random.random() * (MOST - FEWEST + 1)))
            text = tuple(f"w{int(random.random() * self.words)}" for _ in range(count))
            if text not in seen:
                seen.add(text)
                texts.append(text)
        orders = [self.order(len(text)) for text in texts]
        links = [[f"{place}-{step}" for step, place in enumerate(order)] for order in orders]
        split = Split.of(
            [f"{self.name}-{name}-{i}" for i in range(size)],
            list(map(list, texts)),
            [0] * size,
            target=[[text[place] for place in order] for text, order in zip(texts, orders, strict=True)],
        )
        return Split(split.table.append_column("alignment", pa.array(links, pa.list_(pa.string()))))


@dataclass(frozen=True)
class BigramFlip(MadeSequences):
    """Made-up words, each pair to be written the other way round: `w1 w2 w3 w4` becomes `w2 w1 w4 w3`.

    Generated on the spot. Which word must be read at each step was planted (`alignment`): the other one of its pair.
    """

    name: ClassVar[str] = "bigram_flip"
    summary: ClassVar[str] = "generated words, pair by pair to be written the other way round; links known; no download"

    @staticmethod
    def order(size: int) -> list[int]:
        """1, 0, 3, 2, …."""
        return [place ^ 1 for place in range(size)]


@dataclass(frozen=True)
class SequenceCopy(MadeSequences):
    """Made-up words to be written as they are: `w1 w2 w3 w4` stays `w1 w2 w3 w4`.

    Generated on the spot. Which word must be read at each step was planted (`alignment`): the one at the same place.
    """

    name: ClassVar[str] = "sequence_copy"
    summary: ClassVar[str] = "generated words to be written as they are; links known; no download"

    @staticmethod
    def order(size: int) -> list[int]:
        """0, 1, 2, …."""
        return list(range(size))


@dataclass(frozen=True)
class SequenceReverse(MadeSequences):
    """Made-up words to be written from the last to the first: `w1 w2 w3 w4` becomes `w4 w3 w2 w1`.

    Generated on the spot. Which word must be read at each step was planted (`alignment`): the last that is left.
    """

    name: ClassVar[str] = "sequence_reverse"
    summary: ClassVar[str] = "generated words to be written from the last to the first; links known; no download"

    @staticmethod
    def order(size: int) -> list[int]:
        """…, 2, 1, 0."""
        return list(range(size))[::-1]

"""Generated dates to translate from English into ISO form, whose links are known exactly: nothing to download."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import ClassVar

import pyarrow as pa

from attentest.data.corpora.date_words import Word, any_day, said, written
from attentest.data.corpora.parallel import CLASSES
from attentest.data.corpus import Split
from attentest.data.generated import Generated
from attentest.tasks import TaskName

__all__ = ["Dates"]


@dataclass(frozen=True)
class Dates(Generated):
    """Dates as people say them, and in ISO form; the alignment says which words tell each part of the target.

    Generated on the spot, so nothing is downloaded. Dates from 1950 to 2049 as people say them ("the third of may
    nineteen eighty four", "monday , 3 may 1984", "03 may 84"), to be translated into ISO form, written in pieces:
    `19 84 - 05 - 03`. Some sentences hold a number that does not belong to the date, as "at six o'clock". Which
    words tell each piece was planted (`alignment`), so it is known whether attention finds them; the dashes are
    told by none.
    """

    name: ClassVar[str] = "dates"
    summary: ClassVar[str] = "generated dates, English to ISO form, whose word links are known; no download"
    task: ClassVar[TaskName] = "translate"
    classes: ClassVar[tuple[str, ...]] = CLASSES
    preparation: ClassVar[str] = "lower case, punctuation as tokens; the target in pieces of two digits"

    train: int = 8000
    dev: int = 500
    test: int = 500
    seed: int = 5

    def _split(self, name: str, size: int, stream: int, seen: set[tuple[str, ...]]) -> Split:
        random = Random(3 * self.seed + stream)
        sentences: list[list[Word]] = []
        targets: list[list[str]] = []
        while len(sentences) < size:
            day = any_day(random)
            sentence = said(day, random)
            text = tuple(word for word, _ in sentence)
            if text not in seen:
                seen.add(text)
                sentences.append(sentence)
                targets.append(written(day))
        links = [[f"{i}-{part}" for i, (_, tells) in enumerate(one) for part in tells] for one in sentences]
        split = Split.of(
            [f"dates-{name}-{i}" for i in range(size)],
            [[word for word, _ in sentence] for sentence in sentences],
            [0] * size,
            target=targets,
        )
        return Split(split.table.append_column("alignment", pa.array(links, pa.list_(pa.string()))))

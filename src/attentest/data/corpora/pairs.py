"""What corpora of a premise and a hypothesis share: classes, tokens, and which of the two texts is attended to."""

from __future__ import annotations

from abc import ABC
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import counted
from attentest.data.corpora.declared import Declared, Instance, Row
from attentest.data.corpora.words import Words
from attentest.errors import InputError
from attentest.tasks import TaskName

__all__ = ["CLASSES", "Marks", "Pairs"]

#: In Jain & Wallace's order.
CLASSES = ("neutral", "contradiction", "entailment")
PREPARATION = "spaCy English tokens, lower case, tokens with a digit become qqq"

#: Which words (counted from 0 between white space) of the attended text people marked.
Marks = Callable[[Row], Collection[int]]


@dataclass(frozen=True)
class Pairs(Declared, ABC):
    """Premise and hypothesis; attention reads one of them and the other is the query."""

    task: ClassVar[TaskName] = "pair"
    fields: ClassVar[tuple[str, ...]] = ("id", "premise", "hypothesis", "label")
    texts: ClassVar[tuple[str, ...]] = ("premise", "hypothesis")
    labels: ClassVar[tuple[str | int | None, ...]] = (*CLASSES, None)

    attend: Annotated[
        str,
        "The text that attention reads, and whose words are marked where the corpus marks any: "
        "`premise` (Jain & Wallace 2019) or `hypothesis`.",
    ] = "premise"

    def __post_init__(self) -> None:
        if self.attend not in ("premise", "hypothesis"):
            raise InputError(f"Corpus {self.name!r}: attend={self.attend!r} must be 'premise' or 'hypothesis'.")

    @property
    def query(self) -> str:
        """The text that attention does not read."""
        return "hypothesis" if self.attend == "premise" else "premise"

    @property
    def preparation(self) -> str:
        """One line on how texts become tokens."""
        return f"{PREPARATION}; attention reads the {self.attend}"

    def instances(
        self, split: str, rows: Iterable[Row], left_out: list[str], marks: Marks | None = None
    ) -> Iterator[Instance]:
        """The labelled pairs of a split; lines about the others are added at the end."""
        words, reasons = Words(mask_digits=True), Counter[str]()
        for row in rows:
            if row["label"] is None:
                reasons["no gold label ('-')"] += 1
                continue
            rationale = None if marks is None else words.marked(row[self.attend], marks(row))
            yield Instance(
                row["id"],
                words.tokens(row[self.attend]),
                CLASSES.index(row["label"]),
                second=words.tokens(row[self.query]),
                rationale=rationale,
            )
        for why, count in reasons.items():
            counted(left_out, split, count, why, "pair")

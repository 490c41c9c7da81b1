"""The Stanford Sentiment Treebank, negative or positive as Jain & Wallace (2019) prepared it, and in five classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from attentest.data.corpora import treebank
from attentest.data.corpora.declared import Declared, Expected, Prepared, Row, Rows
from attentest.data.sources.source import Source
from attentest.errors import InputError
from attentest.parameters import Within

__all__ = ["SST", "SST5", "SentimentTreebank"]

OFFICIAL = "the official splits"
ROWS = tuple(
    Expected(split, "rows", count, OFFICIAL) for split, count in zip(treebank.SPLITS, (8544, 1101, 2210), strict=True)
)
TABLE_1 = "Jain & Wallace 2019, Table 1"
TABLE_5 = "Tutek & Šnajder 2020, Table 5"
ALL_LENGTHS = "theirs counts 4 symbols and the words of all lengths: 16,171 words before the limits"
OTHERWISE = "their preparation is not described; no cut of the official tokens gives it"
FIVE = ("very negative", "negative", "neutral", "positive", "very positive")
TRAIN = (1092, 2218, 1624, 2322, 1288)
TEST = (279, 633, 389, 510, 399)


@dataclass(frozen=True)
class SentimentTreebank(Declared, ABC):
    """Sentences of film reviews, with their official splits."""

    classes: ClassVar[tuple[str, ...]]
    licence: ClassVar[str] = "none stated (research use)"
    citation: ClassVar[str] = (
        "Socher et al. 2013, Recursive deep models for semantic compositionality over a sentiment treebank"
    )
    homepage: ClassVar[str] = "https://nlp.stanford.edu/sentiment/"
    sources: ClassVar[tuple[Source, ...]] = (treebank.SOURCE,)
    splits: ClassVar[tuple[str, ...]] = treebank.SPLITS
    fields: ClassVar[tuple[str, ...]] = treebank.FIELDS
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1, None)

    more_than: Annotated[int, "Keep sentences with more tokens than this.", Within(0, 10**9)] = 0
    drop_longest: Annotated[bool, "Leave out the longest sentence of every split."] = False

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """The trees in train.txt, dev.txt and test.txt."""
        return treebank.read_trees(folder)

    def prepare(self, rows: Rows) -> Prepared:
        """The three official splits, cleaned and filtered."""
        left_out: list[str] = []
        splits = {
            split: treebank.kept(split, map(self._cleaned, rows(split)), self.more_than, self.drop_longest, left_out)
            for split in self.splits
        }
        return Prepared(splits, self.classes, treebank.PREPARATION, left_out, rationale="human")

    @abstractmethod
    def _cleaned(self, row: Row) -> treebank.Sentence:
        """A sentence with its label and marks."""


@dataclass(frozen=True)
class SST(SentimentTreebank):
    """Film-review sentences, negative or positive; the marks are what people gave a sentiment.

    Sentences of film reviews, prepared as Jain & Wallace (2019) prepared them: brackets dropped, lower case, split
    at non-word characters, neutral sentences left out. Its marks are the tokens that people gave a sentiment of
    their own, so they speak of plausibility, never of faithfulness.
    """

    name: ClassVar[str] = "sst"
    summary: ClassVar[str] = "Sentences of film reviews, negative or positive (Stanford Sentiment Treebank)"
    classes: ClassVar[tuple[str, ...]] = ("negative", "positive")
    expected: ClassVar[tuple[Expected, ...]] = (
        *ROWS,
        Expected("train", "class negative", 3034, TABLE_1, ("paper",)),
        Expected("train", "class positive", 3321, TABLE_1, ("paper",)),
        Expected("test", "class negative", 863, TABLE_1, ("paper",)),
        Expected("test", "class positive", 862, TABLE_1, ("paper",)),
        Expected("all", "vocabulary", 16175, TABLE_1, ("paper",), ALL_LENGTHS),
        Expected("all", "average length", 19, TABLE_1, ("paper",)),
        Expected("all", "vocabulary", 17310, TABLE_5, ("tutek_snajder",), OTHERWISE),
        Expected("all", "average length", 17, TABLE_5, ("tutek_snajder",), "18 when rounded, 17 when cut"),
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "tutek_snajder": {"more_than": 0, "drop_longest": False},
    }

    more_than: Annotated[int, "Keep sentences with more tokens than this.", Within(0, 10**9)] = 5
    drop_longest: Annotated[bool, "Leave out the longest sentence of every split, as the released code does."] = True
    marks: Annotated[
        str,
        "What is marked: `tokens` with a sentiment of their own, only the `negative` or the `positive` ones, or also "
        "the smallest `phrases` that have one.",
    ] = "tokens"
    punctuation: Annotated[
        bool,
        "Keep the official tokens, punctuation among them, which sentences are cut by; the released code does not.",
    ] = False

    def __post_init__(self) -> None:
        if self.marks not in treebank.MARKS:
            raise InputError(f"Corpus {self.name!r}: marks={self.marks!r} must be one of {', '.join(treebank.MARKS)}.")

    def _cleaned(self, row: Row) -> treebank.Sentence:
        return treebank.clean(row, marks=self.marks, punctuation=self.punctuation)


@dataclass(frozen=True)
class SST5(SentimentTreebank):
    """Film-review sentences in five classes; every sentence is kept.

    The same sentences with the treebank's five classes, neutral among them; every sentence is kept. The marks are
    those of `sst`, and so are its files.
    """

    name: ClassVar[str] = "sst-5"
    summary: ClassVar[str] = "Sentences of film reviews in five classes (Stanford Sentiment Treebank)"
    folder: ClassVar[str] = "sst"
    classes: ClassVar[tuple[str, ...]] = FIVE
    expected: ClassVar[tuple[Expected, ...]] = (
        *ROWS,
        *(Expected("train", f"class {name}", size, OFFICIAL) for name, size in zip(FIVE, TRAIN, strict=True)),
        *(Expected("test", f"class {name}", size, OFFICIAL) for name, size in zip(FIVE, TEST, strict=True)),
    )

    def _cleaned(self, row: Row) -> treebank.Sentence:
        return treebank.clean(row, "label5")

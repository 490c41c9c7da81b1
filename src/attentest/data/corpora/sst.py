"""The Stanford Sentiment Treebank, negative or positive, prepared as Jain & Wallace (2019) did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from attentest.data.corpora import treebank
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.sources.source import Source
from attentest.errors import InputError

__all__ = ["SST"]

OFFICIAL = "the official splits"
TABLE_1 = "Jain & Wallace 2019, Table 1"
TABLE_5 = "Tutek & Šnajder 2020, Table 5"
ALL_LENGTHS = "theirs counts 4 symbols and the words of all lengths: 16,171 words before the limits"
OTHERWISE = "their preparation is not described; no cut of the official tokens gives it"


@dataclass(frozen=True)
class SST(Declared):
    """Film-review sentences, negative or positive; the marks are what people gave a sentiment.

    Sentences of film reviews, prepared as Jain & Wallace (2019) prepared them: brackets dropped, lower case, split
    at non-word characters, neutral sentences left out. Its marks are the tokens that people gave a sentiment of
    their own, so they speak of plausibility, never of faithfulness.
    """

    name: ClassVar[str] = "sst"
    summary: ClassVar[str] = "Sentences of film reviews, negative or positive (Stanford Sentiment Treebank)"
    licence: ClassVar[str] = "none stated (research use)"
    citation: ClassVar[str] = (
        "Socher et al. 2013, Recursive deep models for semantic compositionality over a sentiment treebank"
    )
    homepage: ClassVar[str] = "https://nlp.stanford.edu/sentiment/"
    sources: ClassVar[tuple[Source, ...]] = (treebank.SOURCE,)
    splits: ClassVar[tuple[str, ...]] = treebank.SPLITS
    fields: ClassVar[tuple[str, ...]] = treebank.FIELDS
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1, None)
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "rows", 8544, OFFICIAL),
        Expected("dev", "rows", 1101, OFFICIAL),
        Expected("test", "rows", 2210, OFFICIAL),
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

    more_than: Annotated[int, "Keep sentences with more tokens than this."] = 5
    drop_longest: Annotated[bool, "Leave out the longest sentence of every split, as the released code does."] = True
    marks: Annotated[
        str, "What is marked: `tokens` with a sentiment of their own, or also the smallest `phrases` that have one."
    ] = "tokens"

    def __post_init__(self) -> None:
        if self.marks not in ("tokens", "phrases"):
            raise InputError(f"Corpus {self.name!r}: marks={self.marks!r} is unknown. Write 'tokens' or 'phrases'.")

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """The trees in train.txt, dev.txt and test.txt."""
        return treebank.read_trees(folder)

    def prepare(self, rows: Rows) -> Prepared:
        """The three official splits, cleaned and filtered."""
        splits: dict[str, Iterable[Instance]] = {}
        left_out: list[str] = []
        for split in self.splits:
            sentences = (treebank.clean(row, phrases=self.marks == "phrases") for row in rows(split))
            splits[split], lines = treebank.kept(sentences, self.more_than, self.drop_longest, split)
            left_out += lines
        return Prepared(splits, ("negative", "positive"), treebank.PREPARATION, left_out, rationale="human")

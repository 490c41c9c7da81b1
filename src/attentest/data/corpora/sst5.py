"""The Stanford Sentiment Treebank with its five classes, cleaned as the binary one is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.corpora import treebank
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.sst import OFFICIAL, SST
from attentest.data.sources.source import Source

__all__ = ["SST5"]

CLASSES = ("very negative", "negative", "neutral", "positive", "very positive")
TRAIN = (1092, 2218, 1624, 2322, 1288)
TEST = (279, 633, 389, 510, 399)


@dataclass(frozen=True)
class SST5(Declared):
    """Film-review sentences in five classes; every sentence is kept.

    The same sentences with the treebank's five classes, neutral among them; every sentence is kept. The marks are
    those of `sst`, and so are its files.
    """

    name: ClassVar[str] = "sst-5"
    summary: ClassVar[str] = "Sentences of film reviews in five classes (Stanford Sentiment Treebank)"
    licence: ClassVar[str] = SST.licence
    citation: ClassVar[str] = SST.citation
    homepage: ClassVar[str] = SST.homepage
    sources: ClassVar[tuple[Source, ...]] = (treebank.SOURCE,)
    folder: ClassVar[str] = "sst"
    splits: ClassVar[tuple[str, ...]] = treebank.SPLITS
    fields: ClassVar[tuple[str, ...]] = treebank.FIELDS
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1, None)
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "rows", 8544, OFFICIAL),
        Expected("dev", "rows", 1101, OFFICIAL),
        Expected("test", "rows", 2210, OFFICIAL),
        *(Expected("train", f"class {name}", size, OFFICIAL) for name, size in zip(CLASSES, TRAIN, strict=True)),
        *(Expected("test", f"class {name}", size, OFFICIAL) for name, size in zip(CLASSES, TEST, strict=True)),
    )

    more_than: Annotated[int, "Keep sentences with more tokens than this."] = 0
    drop_longest: Annotated[bool, "Leave out the longest sentence of every split, as is done for `sst`."] = False

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """The trees in train.txt, dev.txt and test.txt."""
        return treebank.read_trees(folder)

    def prepare(self, rows: Rows) -> Prepared:
        """The three official splits, cleaned."""
        splits: dict[str, Iterable[Instance]] = {}
        left_out: list[str] = []
        for split in self.splits:
            sentences = (treebank.clean(row, "label5") for row in rows(split))
            splits[split], lines = treebank.kept(sentences, self.more_than, self.drop_longest, split)
            left_out += lines
        return Prepared(splits, CLASSES, treebank.PREPARATION, left_out, rationale="human")

"""e-SNLI: SNLI with the words that people highlighted as the reason for each label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import counted
from attentest.data.corpora.declared import Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.official_files import csv_rows, found
from attentest.data.corpora.pairs import CLASSES, Pairs
from attentest.data.sources.archive import Archive
from attentest.data.sources.source import Source
from attentest.parameters import Within

__all__ = ["ESNLI"]

COMMIT = "7b585a3f077fdea899780eb0473940522ae44a2e"
#: The official files and how many annotators highlighted words in them.
FILES: Mapping[str, tuple[tuple[str, ...], int]] = {
    "train": (("esnli_train_1.csv", "esnli_train_2.csv"), 1),
    "dev": (("esnli_dev.csv",), 3),
    "test": (("esnli_test.csv",), 3),
}
OFFICIAL = "official"


@dataclass(frozen=True)
class ESNLI(Pairs):
    """SNLI's labelled pairs; the rationale is the highlighted words of the attended text.

    SNLI with the words that people highlighted as the reason. They were asked for words of the premise in
    entailments, of both texts in contradictions, and of the hypothesis alone in neutral pairs, so a neutral premise
    has no marks.
    """

    name: ClassVar[str] = "esnli"
    summary: ClassVar[str] = "SNLI with the words people highlighted as the reason (e-SNLI)"
    licence: ClassVar[str] = "none stated (research use); SNLI is CC BY-SA 4.0"
    citation: ClassVar[str] = (
        "Camburu et al. 2018, e-SNLI: natural language inference with natural language explanations"
    )
    homepage: ClassVar[str] = "https://github.com/OanaMariaCamburu/e-SNLI"
    sources: ClassVar[tuple[Source, ...]] = (
        Archive(f"https://github.com/OanaMariaCamburu/e-SNLI/archive/{COMMIT}.zip", members=("*/dataset/esnli_*.csv",)),
    )
    splits: ClassVar[tuple[str, ...]] = ("train", "dev", "test")
    fields: ClassVar[tuple[str, ...]] = (*Pairs.fields, "premise_marked", "hypothesis_marked")
    labels: ClassVar[tuple[str | int | None, ...]] = CLASSES
    min_frequency: ClassVar[int] = 3
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "instances", 549_367, OFFICIAL),
        Expected("dev", "instances", 9_842, OFFICIAL),
        Expected("test", "instances", 9_824, OFFICIAL),
    )

    annotators: Annotated[
        int,
        "How many of the three annotators of dev and test must have highlighted a word; train has one.",
        Within(1, 3),
    ] = 1

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """esnli_{train_1,train_2,dev,test}.csv."""
        return {
            split: _rows([found(folder, name) for name in names], annotators)
            for split, (names, annotators) in FILES.items()
        }

    def prepare(self, rows: Rows) -> Prepared:
        """The three splits, with the highlighted words as rationale."""
        left_out: list[str] = []
        return Prepared(
            splits={split: self._split(split, rows(split), left_out) for split in self.splits},
            classes=CLASSES,
            preparation=f"{self.preparation}; a word is marked where {self.annotators} or more annotators "
            "highlighted it (one annotator in train)",
            left_out=left_out,
            rationale="human",
        )

    def _split(self, split: str, rows: Iterable[Row], left_out: list[str]) -> Iterator[Instance]:
        unreadable = Counter[str]()
        yield from self.instances(split, rows, left_out, lambda row: self._marks(row, unreadable))
        for why, count in unreadable.items():
            counted(left_out, split, count, why, "highlighting")

    def _marks(self, row: Row, unreadable: Counter[str]) -> set[int]:
        votes, voters = Counter[int](), 0
        for marked in row[f"{self.attend}_marked"]:
            places = highlighted(row[self.attend], marked)
            if places is None:
                unreadable["its words are not those of the text"] += 1
            else:
                votes.update(places)
                voters += 1
        return {place for place, count in votes.items() if count >= min(self.annotators, voters)}


def highlighted(text: str, marked: str) -> set[int] | None:
    """The words that ``marked`` puts between asterisks and ``text`` does not; None where the words are others."""
    plain, starred = text.split(), marked.split()
    if [word.replace("*", "") for word in plain] != [word.replace("*", "") for word in starred]:
        return None
    return {place for place, word in enumerate(starred) if word != plain[place]}


def _rows(paths: Sequence[Path], annotators: int) -> Iterator[Row]:
    marked = {
        f"{text}_marked": [f"Sentence{number}_marked_{who + 1}" for who in range(annotators)]
        for number, text in ((1, "premise"), (2, "hypothesis"))
    }
    columns = ["pairID", "gold_label", "Sentence1", "Sentence2", *(name for names in marked.values() for name in names)]
    for path in paths:
        for row in csv_rows(path, columns):
            yield {
                "id": row["pairID"],
                "premise": row["Sentence1"],
                "hypothesis": row["Sentence2"],
                "label": row["gold_label"],
                **{field: [row[name] for name in names] for field, names in marked.items()},
            }

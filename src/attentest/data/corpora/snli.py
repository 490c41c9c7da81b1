"""The Stanford Natural Language Inference corpus, prepared as Jain & Wallace (2019) did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from attentest.data.corpora.declared import Expected, Prepared, Row, Rows
from attentest.data.corpora.official_files import found, json_objects
from attentest.data.corpora.pairs import CLASSES, Pairs
from attentest.data.sources.archive import Archive
from attentest.data.sources.source import Source
from attentest.errors import InputError

__all__ = ["SNLI", "labelled_pairs"]

OFFICIAL_TRAIN = 550_152
JW = "Jain & Wallace 2019, Table 1"
FIRST_100K = "where train is partial, it has fewer pairs and so fewer words"


@dataclass(frozen=True)
class SNLI(Pairs):
    """Image captions and a sentence each that follows, contradicts or neither.

    570,000 pairs. Those without a gold label are left out and counted. Where only a part of the training pairs
    could be had, it is used and named as partial.
    """

    name: ClassVar[str] = "snli"
    summary: ClassVar[str] = "Does a caption entail a sentence, contradict it, or neither (SNLI)"
    licence: ClassVar[str] = "CC BY-SA 4.0"
    citation: ClassVar[str] = "Bowman et al. 2015, A large annotated corpus for learning natural language inference"
    homepage: ClassVar[str] = "https://nlp.stanford.edu/projects/snli/"
    sources: ClassVar[tuple[Source, ...]] = (
        Archive(
            "https://nlp.stanford.edu/projects/snli/snli_1.0.zip",
            sha256="afb3d70a5af5d8de0d9d81e2637e0fb8c22d1235c2749d83125ca43dab0dbd3e",
            members=("snli_1.0/*.jsonl",),
        ),
    )
    splits: ClassVar[tuple[str, ...]] = ("train", "dev", "test")
    min_frequency: ClassVar[int] = 3
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "rows", OFFICIAL_TRAIN, "official"),
        Expected("test", "rows", 10_000, "official"),
        Expected("train", "instances", 549_367, "official, labelled pairs", because=FIRST_100K),
        Expected("dev", "instances", 9_842, "official, labelled pairs"),
        Expected("test", "instances", 9_824, "official, labelled pairs"),
        Expected("train", "class neutral", 182_764, JW, because=FIRST_100K),
        Expected("train", "class contradiction", 183_187, JW, because=FIRST_100K),
        Expected("train", "class entailment", 183_416, JW, because=FIRST_100K),
        Expected("test", "class neutral", 3_219, JW),
        Expected("test", "class contradiction", 3_237, JW),
        Expected("test", "class entailment", 3_368, JW),
        Expected("train", "vocabulary", 20_982, JW, because=FIRST_100K),
        Expected("train", "average length", 14, JW, because="printed as a whole number"),
    )

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """snli_1.0_{train,dev,test}.jsonl; a pair without a gold label ('-') has label null."""
        return {split: labelled_pairs(found(folder, f"snli_1.0_{split}.jsonl")) for split in self.splits}

    def prepare(self, rows: Rows) -> Prepared:
        """The three official splits without the pairs that have no gold label."""
        count = sum(1 for _ in rows("train"))
        left_out: list[str] = []
        return Prepared(
            splits={split: self.instances(split, rows(split), left_out) for split in self.splits},
            classes=CLASSES,
            preparation=self.preparation,
            left_out=left_out,
            partial=f"train has {count:,} of the {OFFICIAL_TRAIN:,} official pairs" if count < OFFICIAL_TRAIN else "",
        )


def labelled_pairs(path: Path, *extra: str) -> Iterator[Row]:
    """The pairs of an official JSON-lines file (SNLI's and MultiNLI's), with these further fields."""
    for number, pair in enumerate(json_objects(path), start=1):
        try:
            label = pair["gold_label"]
            row = {"id": pair["pairID"], "premise": pair["sentence1"], "hypothesis": pair["sentence2"]}
            yield row | {"label": None if label == "-" else label} | {name: pair[name] for name in extra}
        except KeyError as error:
            raise InputError(f"{path}, line {number} has no {error.args[0]!r}: not the official file.") from error

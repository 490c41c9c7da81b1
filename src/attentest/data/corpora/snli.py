"""The Stanford Natural Language Inference corpus, prepared as Jain & Wallace (2019) did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import fewer
from attentest.data.corpora.declared import Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.official_files import found, json_objects
from attentest.data.corpora.pairs import CLASSES, Marks, Pairs
from attentest.data.sources.archive import Archive
from attentest.data.sources.source import Source
from attentest.errors import InputError
from attentest.parameters import Within
from attentest.tasks import TaskName

__all__ = ["SNLI", "SNLIHypotheses", "labelled_pairs"]

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

    training: Annotated[int, "Train on so many of the pairs, drawn at random; 0: all.", Within(0, 10**9)] = 0

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """snli_1.0_{train,dev,test}.jsonl; a pair without a gold label ('-') has label null."""
        return {split: labelled_pairs(found(folder, f"snli_1.0_{split}.jsonl")) for split in self.splits}

    def prepare(self, rows: Rows) -> Prepared:
        """The three official splits without the pairs that have no gold label."""
        there = sum(1 for _ in rows("train"))
        count = min(self.training or there, there)
        left_out: list[str] = []
        training = fewer(lambda: rows("train"), count if count < there else 0)
        return Prepared(
            splits={
                split: self.instances(split, training if split == "train" else rows(split), left_out)
                for split in self.splits
            },
            classes=CLASSES,
            preparation=self.preparation,
            left_out=left_out,
            partial=f"train has {count:,} of the {OFFICIAL_TRAIN:,} official pairs" if count < OFFICIAL_TRAIN else "",
        )


@dataclass(frozen=True)
class SNLIHypotheses(SNLI):
    """The hypotheses of SNLI alone: what they tell of the label without their premises.

    The same pairs with the premise left out, as a corpus of single texts. A model that does well here says how much
    of SNLI can be had without reading the premise (Gururangan et al. 2018). It shares the files of `snli`.
    """

    name: ClassVar[str] = "snli_hypotheses"
    summary: ClassVar[str] = "The hypotheses of SNLI without their premises: what do they tell of the label?"
    folder: ClassVar[str] = "snli"
    task: ClassVar[TaskName] = "single"
    expected: ClassVar[tuple[Expected, ...]] = tuple(
        e for e in SNLI.expected if e.what not in ("vocabulary", "average length")
    )

    #: The text that is there: nothing to choose.
    attend: ClassVar[str] = "hypothesis"

    def instances(
        self, split: str, rows: Iterable[Row], left_out: list[str], marks: Marks | None = None
    ) -> Iterator[Instance]:
        """Those of the pairs without their second text."""
        return (pair._replace(second=None) for pair in super().instances(split, rows, left_out, marks))


def labelled_pairs(path: Path, *extra: str) -> Iterator[Row]:
    """The pairs of an official JSON-lines file (SNLI's and MultiNLI's), with these further fields."""
    for number, pair in enumerate(json_objects(path), start=1):
        try:
            label = pair["gold_label"]
            row = {"id": pair["pairID"], "premise": pair["sentence1"], "hypothesis": pair["sentence2"]}
            yield row | {"label": None if label == "-" else label} | {name: pair[name] for name in extra}
        except KeyError as error:
            raise InputError(f"{path}, line {number} has no {error.args[0]!r}: not the official file.") from error

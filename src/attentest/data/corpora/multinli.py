"""The Multi-Genre Natural Language Inference corpus (Vashishth et al. 2019 use it beside SNLI)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from attentest.data.corpora.declared import Expected, Prepared, Row, Rows
from attentest.data.corpora.official_files import found
from attentest.data.corpora.pairs import CLASSES, Pairs
from attentest.data.corpora.snli import labelled_pairs
from attentest.data.sources.archive import Archive
from attentest.data.sources.source import Source

__all__ = ["MultiNLI"]

#: One prompt in this many, with all its hypotheses, goes from the training pairs to dev.
DEV_SHARE = 40
OFFICIAL = "official, labelled pairs"


@dataclass(frozen=True)
class MultiNLI(Pairs):
    """Sentences of ten genres and a sentence each that follows, contradicts or neither.

    As SNLI, in ten genres of written and spoken English. The labels of the official tests are not published, so the
    two official development sets are the tests, and dev is one training prompt in forty.
    """

    name: ClassVar[str] = "multinli"
    summary: ClassVar[str] = "Entailment, contradiction or neither in ten genres of English (MultiNLI)"
    licence: ClassVar[str] = "OANC, CC BY-SA 3.0, CC BY 3.0 and others, by genre"
    citation: ClassVar[str] = (
        "Williams et al. 2018, A broad-coverage challenge corpus for sentence understanding through inference"
    )
    homepage: ClassVar[str] = "https://cims.nyu.edu/~sbowman/multinli/"
    sources: ClassVar[tuple[Source, ...]] = (
        Archive(
            "https://cims.nyu.edu/~sbowman/multinli/multinli_1.0.zip",
            sha256="049f507b9e36b1fcb756cfd5aeb3b7a0cfcb84bf023793652987f7e7e0957822",
            size=226_850_426,
            members=("multinli_1.0/*.jsonl",),
        ),
    )
    splits: ClassVar[tuple[str, ...]] = ("train", "dev_matched", "dev_mismatched")
    fields: ClassVar[tuple[str, ...]] = ("id", "premise", "hypothesis", "label", "promptID")
    min_frequency: ClassVar[int] = 3
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "instances", 392_702, OFFICIAL, because=f"one prompt in {DEV_SHARE} is dev here"),
        Expected("test", "instances", 9_815, f"{OFFICIAL}, matched"),
        Expected("test_mismatched", "instances", 9_832, f"{OFFICIAL}, mismatched"),
    )

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """multinli_1.0_{train,dev_matched,dev_mismatched}.jsonl."""
        return {
            split: labelled_pairs(found(folder, f"multinli_1.0_{split}.jsonl"), "promptID", "genre")
            for split in self.splits
        }

    def prepare(self, rows: Rows) -> Prepared:
        """Both official development sets for testing: the labels of the test sets are not published."""
        left_out: list[str] = []
        parts: dict[str, Iterator[Row]] = {
            "train": (row for row in rows("train") if not _for_dev(row)),
            "dev": (row for row in rows("train") if _for_dev(row)),
            "test": iter(rows("dev_matched")),
            "test_mismatched": iter(rows("dev_mismatched")),
        }
        return Prepared(
            splits={split: self.instances(split, part, left_out) for split, part in parts.items()},
            classes=CLASSES,
            preparation=f"{self.preparation}; test is the matched and test_mismatched the mismatched official "
            f"development set; dev is one training prompt in {DEV_SHARE}",
            left_out=left_out,
        )


def _for_dev(row: Row) -> bool:
    hashed = hashlib.blake2b(str(row["promptID"]).encode(), digest_size=8).digest()
    return int.from_bytes(hashed, "big") % DEV_SHARE == 0

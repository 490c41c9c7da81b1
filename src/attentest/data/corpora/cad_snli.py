"""Counterfactually edited SNLI: people changed as little as possible to change the label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import ClassVar

from attentest.data.catalog.cleaning import shuffled
from attentest.data.corpora.declared import Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.official_files import csv_rows, found
from attentest.data.corpora.pairs import CLASSES, Pairs
from attentest.data.sources.archive import Archive
from attentest.data.sources.source import Source
from attentest.errors import InputError

__all__ = ["CadSNLI", "edited"]

COMMIT = "6f232a1d2a11462a30ce08fb4825b734ab30828e"
VERSIONS = ("original", "revised_premise", "revised_hypothesis")
#: Every original was edited twice in each text, once towards each of the other two labels.
REVISIONS = 2
OFFICIAL = "official: an original and four edits each"


@dataclass(frozen=True)
class CadSNLI(Pairs):
    """SNLI pairs with their edits; the rationale is the words that an edit changed.

    SNLI pairs of which people changed one text as little as it takes to change the label. The changed words are
    marked; where it was the other text that was changed, there are none.

    An edited text marks the words that its original lacks, an original those that any edit took away.
    """

    name: ClassVar[str] = "cad_snli"
    summary: ClassVar[str] = "SNLI pairs and minimal edits that change the label (counterfactually augmented)"
    licence: ClassVar[str] = "Apache-2.0"
    citation: ClassVar[str] = (
        "Kaushik et al. 2020, Learning the difference that makes a difference with counterfactually-augmented data"
    )
    homepage: ClassVar[str] = "https://github.com/acmi-lab/counterfactually-augmented-data"
    sources: ClassVar[tuple[Source, ...]] = (
        Archive(
            f"https://github.com/acmi-lab/counterfactually-augmented-data/archive/{COMMIT}.zip",
            members=("*/NLI/*.tsv",),
        ),
    )
    splits: ClassVar[tuple[str, ...]] = ("train", "dev", "test")
    fields: ClassVar[tuple[str, ...]] = (*Pairs.fields, "version")
    labels: ClassVar[tuple[str | int | None, ...]] = CLASSES
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "instances", 8_330, OFFICIAL),
        Expected("dev", "instances", 1_000, OFFICIAL),
        Expected("test", "instances", 2_000, OFFICIAL),
    )

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """NLI/{original,revised_premise,revised_hypothesis}/{train,dev,test}.tsv."""
        paths = {s: {v: found(folder, f"{v}/{s}.tsv") for v in VERSIONS} for s in self.splits}
        return {split: _rows(split, versions) for split, versions in paths.items()}

    def prepare(self, rows: Rows) -> Prepared:
        """Originals and edits together, ordered by a hash of the id: the files are sorted by label."""
        left_out: list[str] = []
        return Prepared(
            splits={split: self._split(split, list(rows(split)), left_out) for split in self.splits},
            classes=CLASSES,
            preparation=f"{self.preparation}; marked are the words an edit changed; "
            "order shuffled, because the files are sorted by label",
            left_out=left_out,
            rationale="human",
        )

    def _split(self, split: str, rows: Sequence[Row], left_out: list[str]) -> Iterable[Instance]:
        marks = self._marks(split, rows)
        return self.instances(
            split, sorted(rows, key=lambda row: shuffled(row["id"])), left_out, lambda row: marks[row["id"]]
        )

    def _marks(self, split: str, rows: Sequence[Row]) -> dict[str, set[int]]:
        """The edited words of every attended text, by id."""
        versions: dict[str, list[Row]] = {version: [] for version in VERSIONS}
        for row in rows:
            if row["version"] not in versions:
                raise InputError(
                    f"Corpus {self.name!r}, {row['id']}: version {row['version']!r} is none of {VERSIONS}."
                )
            versions[row["version"]].append(row)
        originals, edits = versions["original"], versions[f"revised_{self.attend}"]
        if len(edits) != REVISIONS * len(originals):
            raise InputError(
                f"Corpus {self.name!r}, {split}: {len(originals)} originals need {REVISIONS * len(originals)} "
                f"rows of version revised_{self.attend}, and there are {len(edits)}."
            )
        marks: dict[str, set[int]] = {row["id"]: set() for row in rows}
        for place, edit in enumerate(edits):
            original = originals[place // REVISIONS]
            lost, gained = edited(original[self.attend].split(), edit[self.attend].split())
            marks[original["id"]] |= lost
            marks[edit["id"]] |= gained
        return marks


def edited(before: Sequence[str], after: Sequence[str]) -> tuple[set[int], set[int]]:
    """Where the two differ: the places of the words that were lost and of those that were gained."""
    lost, gained = set(range(len(before))), set(range(len(after)))
    for block in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
        lost -= set(range(block.a, block.a + block.size))
        gained -= set(range(block.b, block.b + block.size))
    return lost, gained


def _rows(split: str, paths: Mapping[str, Path]) -> Iterator[Row]:
    for version, path in paths.items():
        for number, row in enumerate(csv_rows(path, ("sentence1", "sentence2", "gold_label"), delimiter="\t")):
            yield {
                "id": f"{split}-{version}-{number}",
                "premise": row["sentence1"],
                "hypothesis": row["sentence2"],
                "label": row["gold_label"],
                "version": version,
            }

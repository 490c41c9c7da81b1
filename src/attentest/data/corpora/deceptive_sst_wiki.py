"""SST sentences with an unrelated Wikipedia sentence after them (Pruthi et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.corpora.deceptive_pronoun import (
    ARCHIVE,
    CITATION,
    HOMEPAGE,
    LICENCE,
    SPLITS,
    planted,
    tagged_lines,
    task_file,
)
from attentest.data.corpora.declared import Declared, Expected, Prepared, Row, Rows
from attentest.data.corpora.official_files import found
from attentest.data.files.formats import text_of_file
from attentest.data.sources.archive import Archive
from attentest.errors import InputError

__all__ = ["DeceptiveSSTWiki"]


@dataclass(frozen=True)
class DeceptiveSSTWiki(Declared):
    """A film-review sentence decides, a Wikipedia sentence after it does not.

    A sentence of a film review, then one of Wikipedia that has nothing to do with the label. The words of the
    review are marked: all of them, so the marks say where the decision can come from, not which words make it.
    """

    name: ClassVar[str] = "deceptive_sst_wiki"
    summary: ClassVar[str] = "Film-review sentences padded with Wikipedia: only the review decides (planted truth)"
    licence: ClassVar[str] = LICENCE
    citation: ClassVar[str] = CITATION
    homepage: ClassVar[str] = HOMEPAGE
    sources: ClassVar[tuple[Archive, ...]] = (ARCHIVE,)
    splits: ClassVar[tuple[str, ...]] = SPLITS
    fields: ClassVar[tuple[str, ...]] = ("id", "text", "label", "impermissible")
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1)
    expected: ClassVar[tuple[Expected, ...]] = tuple(
        Expected(split, what, count, "SST, official binary splits")
        for split, counts in zip(SPLITS, ((3_310, 3_610), (428, 444), (912, 909)), strict=True)
        for what, count in zip(("class negative", "class positive"), counts, strict=True)
    )

    lowercase: Annotated[bool, "Lower case, as the authors' code does."] = True

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """data/sst-wiki/{train,dev,test}.txt, and beside each a .block file of a 0 or 1 for every word."""
        return {split: self._read(folder, split) for split in SPLITS}

    def prepare(self, rows: Rows) -> Prepared:
        """The released words; those of the review are what the label depends on."""
        return planted(rows, ("negative", "positive"), self.lowercase)

    def _read(self, folder: Path, split: str) -> Iterator[Row]:
        path = task_file(folder, "sst-wiki", split)
        block = found(path.parent, f"{path.name}.block")
        flags = [line.split() for line in text_of_file(block).removesuffix("\n").split("\n")]

        def places(number: int, words: Sequence[str]) -> list[int]:
            marks = flags[number] if number < len(flags) else []
            if len(marks) != len(words):
                raise InputError(
                    f"{block.name}, line {number + 1} has {len(marks)} marks for the {len(words)} words of {path.name}."
                )
            return [place for place, mark in enumerate(marks) if mark == "1"]

        return tagged_lines(path, ("0", "1"), f"sst_wiki-{split}", places)

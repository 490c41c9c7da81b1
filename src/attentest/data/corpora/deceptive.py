"""Texts whose deciding words are known, made to train attention that hides them (Pruthi et al. 2020)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import shuffled
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.official_files import found
from attentest.data.files.formats import text_of_file
from attentest.data.sources.archive import Archive
from attentest.errors import InputError
from attentest.parameters import Within

__all__ = ["Deceptive", "DeceptivePronoun", "DeceptiveSSTWiki"]

PRONOUNS = frozenset(("he", "she", "her", "his", "him", "himself", "herself"))
SPLITS = ("train", "dev", "test")
#: The places of the words that decide, given the number of a line and its words.
Places = Callable[[int, Sequence[str]], list[int]]


@dataclass(frozen=True)
class Deceptive(Declared, ABC):
    """Released words, with those marked on which the label depends."""

    #: The folder of its files, what ids begin with, and what the tags of its lines stand for.
    below: ClassVar[str]
    prefix: ClassVar[str]
    tags: ClassVar[Mapping[str, str]]
    licence: ClassVar[str] = "none stated (research use)"
    citation: ClassVar[str] = "Pruthi et al. 2020, Learning to deceive with attention-based explanations"
    homepage: ClassVar[str] = "https://github.com/danishpruthi/deceptive-attention"
    sources: ClassVar[tuple[Archive, ...]] = (
        Archive(
            f"{homepage}/archive/8c8823efab5a65ea85a9c04130b3622711d2fac5.tar.gz",
            members=("*/classification_tasks/data/pronoun/*", "*/classification_tasks/data/sst-wiki/*"),
        ),
    )
    splits: ClassVar[tuple[str, ...]] = SPLITS
    fields: ClassVar[tuple[str, ...]] = ("id", "text", "label", "impermissible")
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1)

    lowercase: Annotated[bool, "Lower case, as the authors' code does."] = True
    train: Annotated[int, "So many texts to train on; `0`: all.", Within(0, 1_000_000)] = 0

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """{train,dev,test}.txt, in the folder itself or somewhere below it: a tag, a tab, the words."""
        files = {split: folder / f"{split}.txt" for split in SPLITS}
        files |= {split: found(folder, f"{self.below}/{split}.txt") for split in SPLITS if not files[split].is_file()}
        return {split: self._read(path, split) for split, path in files.items()}

    def prepare(self, rows: Rows) -> Prepared:
        """The released words, with those marked that the label depends on."""
        splits = {
            split: sorted(map(self._instance, rows(split)), key=lambda text: shuffled(text.id)) for split in SPLITS
        }
        whole = len(splits["train"])
        splits["train"] = splits["train"][: self.train or whole]
        kept = len(splits["train"])
        return Prepared(
            splits,
            tuple(self.tags.values()),
            f"words between spaces as released{', lower case' if self.lowercase else ''}; the impermissible words, on "
            "which the label depends, are marked",
            partial=f"train is {kept:,} of {whole:,} texts" if kept < whole else "",
            rationale="planted",
        )

    @abstractmethod
    def _places(self, path: Path) -> Places:
        """Where the words that decide stand in the lines of a file."""

    def _read(self, path: Path, split: str) -> Iterator[Row]:
        tags, places = tuple(self.tags), self._places(path)
        for number, line in enumerate(text_of_file(path).removesuffix("\n").split("\n")):
            tag, tab, text = line.partition("\t")
            if not tab or tag not in tags:
                raise InputError(f"{path.name}, line {number + 1} is not {' or '.join(tags)}, a tab and a text.")
            yield {
                "id": f"{self.prefix}-{split}-{number}",
                "text": text.strip(),
                "label": tags.index(tag),
                "impermissible": places(number, text.split()),
            }

    def _instance(self, row: Row) -> Instance:
        words = (row["text"].lower() if self.lowercase else row["text"]).split()
        marked = set(row["impermissible"])
        if any(not 0 <= place < len(words) for place in marked):
            raise InputError(f"Text {row['id']!r}: a marked word lies outside its {len(words)} words.")
        return Instance(row["id"], words, row["label"], rationale=[place in marked for place in range(len(words))])


@dataclass(frozen=True)
class DeceptivePronoun(Deceptive):
    """Wikipedia sentences about a man or a woman; the pronouns decide.

    The label is the gender of the pronouns, so they are known to decide, and marked. Made to train attention that
    hides the words it uses (Pruthi et al. 2020).
    """

    name: ClassVar[str] = "deceptive_pronoun"
    summary: ClassVar[str] = "Wikipedia sentences with he or she: the label is the pronouns' gender (planted truth)"
    below: ClassVar[str] = "pronoun"
    prefix: ClassVar[str] = "pronoun"
    tags: ClassVar[Mapping[str, str]] = {"M": "he", "F": "she"}
    expected: ClassVar[tuple[Expected, ...]] = tuple(
        Expected(split, "instances", count, "the release")
        for split, count in zip(SPLITS, (9_017, 1_127, 1_127), strict=True)
    )

    def _places(self, path: Path) -> Places:
        return lambda _, words: [place for place, word in enumerate(words) if word.lower() in PRONOUNS]


@dataclass(frozen=True)
class DeceptiveSSTWiki(Deceptive):
    """A film-review sentence decides, a Wikipedia sentence after it does not.

    A sentence of a film review, then one of Wikipedia that has nothing to do with the label. The words of the
    review are marked: all of them, so the marks say where the decision can come from, not which words make it.
    """

    name: ClassVar[str] = "deceptive_sst_wiki"
    summary: ClassVar[str] = "Film-review sentences padded with Wikipedia: only the review decides (planted truth)"
    below: ClassVar[str] = "sst-wiki"
    prefix: ClassVar[str] = "sst_wiki"
    tags: ClassVar[Mapping[str, str]] = {"0": "negative", "1": "positive"}
    expected: ClassVar[tuple[Expected, ...]] = tuple(
        Expected(split, what, count, "SST, official binary splits")
        for split, counts in zip(SPLITS, ((3_310, 3_610), (428, 444), (912, 909)), strict=True)
        for what, count in zip(("class negative", "class positive"), counts, strict=True)
    )

    def _places(self, path: Path) -> Places:
        """Beside each file lies a .block file of a 0 or 1 for every word."""
        block = found(path.parent, f"{path.name}.block")
        flags = [line.split() for line in text_of_file(block).removesuffix("\n").split("\n")]

        def places(number: int, words: Sequence[str]) -> list[int]:
            marks = flags[number] if number < len(flags) else []
            if len(marks) != len(words):
                raise InputError(
                    f"{block.name}, line {number + 1} has {len(marks)} marks for the {len(words)} words of {path.name}."
                )
            return [place for place, mark in enumerate(marks) if mark == "1"]

        return places

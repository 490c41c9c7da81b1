"""Multi30k: image captions in English and German, and the same with automatic word alignments."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import counted
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.official_files import found, lines
from attentest.data.corpora.parallel import CLASSES, Parallel, check_subwords, sentence_pairs
from attentest.data.sources.archive import Archive
from attentest.data.sources.source import Source
from attentest.data.subwords import Subwords
from attentest.errors import InputError
from attentest.parameters import Within
from attentest.tasks import TaskName

__all__ = ["Multi30k", "Multi30kAligned"]

COMMIT = "a3d2e0d26b56f3846f66a952536ffed4e401d05a"
ALIGNED_COMMIT = "8c8823efab5a65ea85a9c04130b3622711d2fac5"
CITATION = "Elliott et al. 2016, Multi30K: multilingual English-German image descriptions"
LATER_TESTS = ("test_2017_flickr", "test_2017_mscoco", "test_2018_flickr")
OFFICIAL = "official"
#: The aligner's words: a no-break space is one, and double spaces are not.
_WORD = re.compile(r"[^ \t]+")
_LINK = re.compile(r"(\d+)-(\d+)")


@dataclass(frozen=True)
class Multi30k(Parallel):
    """Captions of 31,000 images; test is test_2016_flickr, and later tests keep their names.

    Short captions of images. `test` is the test of 2016; later ones keep their names where they are here.
    """

    name: ClassVar[str] = "multi30k"
    summary: ClassVar[str] = "Image captions, English to German (Multi30k, task 1)"
    licence: ClassVar[str] = "not stated (Flickr30k captions: research use)"
    citation: ClassVar[str] = CITATION
    homepage: ClassVar[str] = "https://github.com/multi30k/dataset"
    sources: ClassVar[tuple[Source, ...]] = (
        Archive(f"https://github.com/multi30k/dataset/archive/{COMMIT}.zip", members=("*/data/task1/raw/*",)),
    )
    splits: ClassVar[tuple[str, ...]] = ("train", "dev", "test_2016_flickr")
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "instances", 29_000, OFFICIAL),
        Expected("dev", "instances", 1_014, OFFICIAL),
        Expected("test", "instances", 1_000, OFFICIAL),
        Expected("test_2017_flickr", "instances", 1_000, OFFICIAL),
        Expected("test_2017_mscoco", "instances", 461, OFFICIAL),
        Expected("test_2018_flickr", "instances", 1_071, OFFICIAL),
    )

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """data/task1/raw/<split>.{en,de}, gzipped or not; the official name of dev is val."""
        official = {split: "val" if split == "dev" else split for split in (*self.splits, *LATER_TESTS)}
        return {
            split: sentence_pairs(found(folder, f"{name}.en"), found(folder, f"{name}.de"), split)
            for split, name in official.items()
        }

    def prepare(self, rows: Rows) -> Prepared:
        """The official splits."""
        names = {"train": "train", "dev": "dev", "test": "test_2016_flickr"}
        names |= {split: split for split in LATER_TESTS if rows.has(split)}
        return self.prepared({s: partial(rows, name) for s, name in names.items()}, "test is test_2016_flickr")


@dataclass(frozen=True)
class Multi30kAligned(Declared):
    """An earlier version of the same captions, already tokenised, with the silver alignment of their words.

    An earlier version of the same captions, tokenised, with links between English and German words. The links were
    found by a program ("silver"), not by people.
    """

    name: ClassVar[str] = "multi30k_aligned"
    summary: ClassVar[str] = "Image captions, English to German, with automatic word alignments (Multi30k)"
    task: ClassVar[TaskName] = "translate"
    licence: ClassVar[str] = "not stated (Flickr30k captions: research use)"
    citation: ClassVar[str] = (
        f"{CITATION}; alignments: Pruthi et al. 2020, Learning to deceive with attention-based explanations"
    )
    homepage: ClassVar[str] = "https://github.com/danishpruthi/deceptive-attention"
    sources: ClassVar[tuple[Source, ...]] = (
        Archive(
            f"https://github.com/danishpruthi/deceptive-attention/archive/{ALIGNED_COMMIT}.zip", members=("*.en-de.*",)
        ),
    )
    splits: ClassVar[tuple[str, ...]] = ("train", "dev", "test")
    fields: ClassVar[tuple[str, ...]] = ("id", "en", "de", "align")
    texts: ClassVar[tuple[str, ...]] = ("en", "de")
    min_frequency: ClassVar[int] = 2
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "instances", 29_000, OFFICIAL),
        Expected("dev", "instances", 1_014, OFFICIAL),
        Expected("test", "instances", 1_000, OFFICIAL),
    )

    lowercase: Annotated[bool, "Lower case; by default case is kept."] = False
    subwords: Annotated[
        int,
        "So many pieces of words instead of words (byte-pair encoding of both languages together); a link of two "
        "words becomes links of all their pieces. `0`: whole words.",
        Within(0, 10**6),
    ] = 0

    def __post_init__(self) -> None:
        check_subwords(self.name, self.subwords)

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """<split>.en-de.{src,trg,align}."""
        endings = ("src", "trg", "align")
        return {split: _aligned([found(folder, f"{split}.en-de.{e}") for e in endings], split) for split in self.splits}

    def prepare(self, rows: Rows) -> Prepared:
        """The captions' own tokens; links are ``source-target``, counted from 0."""
        left_out: list[str] = []
        words = f"the published tokens, {'lower case' if self.lowercase else 'case kept'}"
        cut = f"; {Subwords.about(self.subwords)}" if self.subwords else ""
        subwords = None
        if self.subwords:
            both = (text for row in rows("train") for text in self._words(row))
            subwords = Subwords.learnt(both, self.subwords)
        return Prepared(
            splits={split: self._instances(split, rows(split), subwords, left_out) for split in self.splits},
            classes=CLASSES,
            preparation=f"{words}; silver alignments{cut}",
            left_out=left_out,
            min_frequency=1 if self.subwords else None,
        )

    def _words(self, row: Row) -> tuple[list[str], list[str]]:
        english, german = (_WORD.findall(row[text].lower() if self.lowercase else row[text]) for text in ("en", "de"))
        return english, german

    def _instances(
        self, split: str, rows: Iterable[Row], subwords: Subwords | None, left_out: list[str]
    ) -> Iterator[Instance]:
        reasons = Counter[str]()
        for row in rows:
            english, german = self._words(row)
            links = row["align"].split()
            if not all(_within(link, english, german) for link in links):
                reasons["an alignment to a word that is not there"] += 1
            elif subwords is None:
                yield Instance(row["id"], english, 0, target=german, alignment=links)
            else:
                links = _of_pieces(links, subwords.spans(english), subwords.spans(german))
                source, target = subwords.segment(english), subwords.segment(german)
                yield Instance(row["id"], source, 0, target=target, alignment=links)
        for why, count in reasons.items():
            counted(left_out, split, count, why, "pair")


def _of_pieces(links: Iterable[str], source: Sequence[range], target: Sequence[range]) -> list[str]:
    """Links of words as links of all their pieces."""
    words = ((int(s), int(t)) for s, _, t in (link.partition("-") for link in links))
    return [f"{i}-{j}" for s, t in words for i in source[s] for j in target[t]]


def _within(link: str, source: Sequence[str], target: Sequence[str]) -> bool:
    match = _LINK.fullmatch(link)
    return match is not None and int(match[1]) < len(source) and int(match[2]) < len(target)


def _aligned(paths: Sequence[Path], split: str) -> Iterator[Row]:
    for number, (en, de, align) in enumerate(zip_longest(*map(lines, paths))):
        if en is None or de is None or align is None:
            raise InputError(f"{', '.join(map(str, paths))} must have as many lines: one ends at line {number}.")
        if en.strip() and de.strip():
            yield {"id": f"{split}-{number}", "en": en, "de": de, "align": align}

"""News Commentary v11, English to German, as Vashishth et al. (2019) name it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from attentest.data.corpora.declared import Prepared, Row, Rows
from attentest.data.corpora.official_files import found
from attentest.data.corpora.parallel import Parallel, sentence_pairs
from attentest.data.sources.archive import Archive
from attentest.data.sources.source import Source

__all__ = ["NewsCommentary"]

#: One pair in this many is dev, and as many are test.
SHARE = 100


@dataclass(frozen=True)
class NewsCommentary(Parallel):
    """Sentences of newspaper commentaries; there is no official dev or test.

    There is no official dev or test: one pair in a hundred goes to each, by a hash of its id.
    """

    name: ClassVar[str] = "news_commentary"
    summary: ClassVar[str] = "Newspaper commentaries, English to German (News Commentary v11)"
    licence: ClassVar[str] = "not stated (research use)"
    citation: ClassVar[str] = "Bojar et al. 2016, Findings of the 2016 conference on machine translation"
    homepage: ClassVar[str] = "https://www.statmt.org/wmt16/translation-task.html"
    sources: ClassVar[tuple[Source, ...]] = (
        Archive(
            "https://data.statmt.org/wmt16/translation-task/training-parallel-nc-v11.tgz",
            sha256="cfe8ab047e05043476e498ee765c98e939c7b7d6d294e856344c84476b619d6a",
            size=75_178_032,
            members=("*.de-en.*",),
        ),
    )
    splits: ClassVar[tuple[str, ...]] = ("train",)

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """news-commentary-v11.de-en.{en,de}, line by line; pairs with an empty side are passed over."""
        english, german = (found(folder, f"news-commentary-v11.de-en.{language}") for language in ("en", "de"))
        return {"train": sentence_pairs(english, german, "train")}

    def prepare(self, rows: Rows) -> Prepared:
        """One pair in a hundred each for dev and test, chosen by a hash of the id."""
        return self.prepared(
            {split: partial(_part, split, rows) for split in ("train", "dev", "test")},
            f"one pair in {SHARE} is dev and one test, by a hash of the id",
        )


def _part(split: str, rows: Rows) -> Iterator[Row]:
    for row in rows("train"):
        hashed = hashlib.blake2b(str(row["id"]).encode(), digest_size=8).digest()
        if {0: "dev", 1: "test"}.get(int.from_bytes(hashed, "big") % SHARE, "train") == split:
            yield row

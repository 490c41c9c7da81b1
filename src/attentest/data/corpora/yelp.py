"""Yelp reviews with their stars: Zhang et al.'s full set, and the sample of 5,000 + 5,000."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import counted, streamed
from attentest.data.corpora.ag_news import ZHANG, zhang_rows
from attentest.data.corpora.declared import Declared, Expected, Prepared, Row, Rows
from attentest.data.corpora.official_files import found
from attentest.data.sources.archive import Archive

__all__ = ["Yelp", "YelpSample"]

LICENCE = "Yelp Dataset terms (academic use)"
POLAR = {1: 0, 2: 0, 4: 1, 5: 1}
SERRANO = "Serrano & Smith 2019, Table 1"


def _read(folder: Path) -> Mapping[str, Iterable[Row]]:
    files = {split: found(folder, f"{split}.csv") for split in ("train", "test")}
    return {split: _reviews(path) for split, path in files.items()}


def _reviews(path: Path) -> Iterator[Row]:
    for row in zhang_rows(path, ("text",)):
        stars = row["label"] + 1
        yield {**row, "stars": stars, "label": POLAR.get(stars)}


def _prepare(rows: Rows, five: bool, partial: str) -> Prepared:
    """Reviews of three stars drop out unless all five are classes."""
    label = {stars: stars - 1 for stars in range(1, 6)} if five else POLAR
    left_out: list[str] = []
    for split in ("train", "test"):
        counted(left_out, split, sum(row["stars"] not in label for row in rows(split)), "three stars")
    return Prepared(
        streamed(rows, lambda row: str(row["text"]), lambda row: label.get(row["stars"]), left_out),
        [f"{stars} {'star' if stars == 1 else 'stars'}" for stars in label] if five else ("negative", "positive"),
        "spaCy tokens, lower case; a stratified tenth of train is dev",
        left_out,
        partial=partial,
    )


@dataclass(frozen=True)
class Yelp(Declared):
    """Reviews of businesses, negative or positive, or by their stars.

    650,000 reviews, read as a stream and never held at once. One and two stars are negative, four and five
    positive, and three are left out; `five=True` has all five, as in Serrano & Smith (2019).
    """

    name: ClassVar[str] = "yelp"
    summary: ClassVar[str] = "Reviews of businesses, negative or positive or by stars (Yelp, full)"
    licence: ClassVar[str] = LICENCE
    citation: ClassVar[str] = ZHANG
    homepage: ClassVar[str] = "https://www.yelp.com/dataset"
    sources: ClassVar[tuple[Archive, ...]] = (Archive("https://s3.amazonaws.com/fast-ai-nlp/yelp_review_full_csv.tgz"),)
    fields: ClassVar[tuple[str, ...]] = ("id", "text", "label", "stars")
    texts: ClassVar[tuple[str, ...]] = ()
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1, None)
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "rows", 650_000, SERRANO),
        Expected("test", "rows", 50_000, SERRANO),
        Expected("all", "average length", 125, SERRANO, because="of train and dev, with all five stars"),
    )
    min_frequency: ClassVar[int] = 5

    five: Annotated[bool, "All five stars as classes."] = False

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """yelp_review_full's train.csv and test.csv: stars and text."""
        return _read(folder)

    def prepare(self, rows: Rows) -> Prepared:
        """A stream: 650,000 reviews are never held at once."""
        return _prepare(rows, self.five, "")


@dataclass(frozen=True)
class YelpSample(Declared):
    """A small sample of Yelp reviews.

    A sample with a balance of stars of its own, small enough to try things on: three in four polar reviews are
    positive. It is always named as partial.
    """

    name: ClassVar[str] = "yelp_sample"
    summary: ClassVar[str] = "Reviews of businesses, negative or positive or by stars (Yelp, a sample of 10,000)"
    licence: ClassVar[str] = LICENCE
    citation: ClassVar[str] = "Xie et al. 2024, Differentially private synthetic data via foundation model APIs 2: text"
    homepage: ClassVar[str] = "https://www.yelp.com/dataset"
    fields: ClassVar[tuple[str, ...]] = ("id", "text", "label", "stars")
    texts: ClassVar[tuple[str, ...]] = ()
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1, None)
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "rows", 5_000, "the sample"),
        Expected("test", "rows", 5_000, "the sample"),
        Expected("test", "class negative", 1_141, "the sample"),
        Expected("test", "class positive", 3_314, "the sample"),
    )
    min_frequency: ClassVar[int] = 5

    five: Annotated[bool, "All five stars as classes."] = False

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """train.csv and test.csv of stars and text, as Zhang et al. write them."""
        return _read(folder)

    def prepare(self, rows: Rows) -> Prepared:
        """As the full set."""
        return _prepare(rows, self.five, "5,000 + 5,000 reviews, a sample of Yelp with its own balance of stars")

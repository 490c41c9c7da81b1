"""Yelp reviews with their stars: Zhang et al.'s full set, and the sample of 5,000 + 5,000."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import counted, streamed
from attentest.data.corpora.declared import Expected, Prepared, Row, Rows
from attentest.data.corpora.zhang import SERRANO, Zhang
from attentest.data.sources.archive import Archive

__all__ = ["Reviews", "Yelp", "YelpSample"]

POLAR = {1: 0, 2: 0, 4: 1, 5: 1}


def with_stars(record: Row) -> Row:
    """A review by its stars; three of them are neither negative nor positive."""
    stars = record["label"] + 1
    return {**record, "stars": stars, "label": POLAR.get(stars)}


@dataclass(frozen=True)
class Reviews(Zhang, ABC):
    """Reviews with their stars; those of three drop out unless all five are classes."""

    #: Which part of Yelp's reviews they are, where they are not all of the release.
    part: ClassVar[str] = ""
    columns: ClassVar[tuple[str, ...]] = ("text",)
    row_of: ClassVar[Callable[[Row], Row]] = staticmethod(with_stars)
    licence: ClassVar[str] = "Yelp Dataset terms (academic use)"
    homepage: ClassVar[str] = "https://www.yelp.com/dataset"
    fields: ClassVar[tuple[str, ...]] = ("id", "text", "label", "stars")
    texts: ClassVar[tuple[str, ...]] = ()
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1, None)

    five: Annotated[bool, "All five stars as classes."] = False

    def prepare(self, rows: Rows) -> Prepared:
        """A stream: 650,000 reviews are never held at once."""
        label = {stars: stars - 1 for stars in range(1, 6)} if self.five else POLAR
        left_out: list[str] = []
        for split in ("train", "test"):
            counted(left_out, split, sum(row["stars"] not in label for row in rows(split)), "three stars")
        stars = [f"{count} {'star' if count == 1 else 'stars'}" for count in label]
        return Prepared(
            streamed(rows, lambda row: str(row["text"]), lambda row: label.get(row["stars"]), left_out),
            stars if self.five else ("negative", "positive"),
            "spaCy tokens, lower case; a stratified tenth of train is dev",
            left_out,
            partial=self.part,
        )


@dataclass(frozen=True)
class Yelp(Reviews):
    """Reviews of businesses, negative or positive, or by their stars.

    650,000 reviews, read as a stream and never held at once. One and two stars are negative, four and five
    positive, and three are left out; `five=True` has all five, as in Serrano & Smith (2019).
    """

    name: ClassVar[str] = "yelp"
    summary: ClassVar[str] = "Reviews of businesses, negative or positive or by stars (Yelp, full)"
    sources: ClassVar[tuple[Archive, ...]] = (Archive("https://s3.amazonaws.com/fast-ai-nlp/yelp_review_full_csv.tgz"),)
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "rows", 650_000, SERRANO),
        Expected("test", "rows", 50_000, SERRANO),
        Expected("all", "average length", 125, SERRANO, because="of train and dev, with all five stars"),
    )


@dataclass(frozen=True)
class YelpSample(Reviews):
    """A small sample of Yelp reviews.

    A sample with a balance of stars of its own, small enough to try things on: three in four polar reviews are
    positive. It is always named as partial.
    """

    name: ClassVar[str] = "yelp_sample"
    summary: ClassVar[str] = "Reviews of businesses, negative or positive or by stars (Yelp, a sample of 10,000)"
    part: ClassVar[str] = "5,000 + 5,000 reviews, a sample of Yelp with its own balance of stars"
    citation: ClassVar[str] = "Xie et al. 2024, Differentially private synthetic data via foundation model APIs 2: text"
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "rows", 5_000, "the sample"),
        Expected("test", "rows", 5_000, "the sample"),
        Expected("test", "class negative", 1_141, "the sample"),
        Expected("test", "class positive", 3_314, "the sample"),
    )

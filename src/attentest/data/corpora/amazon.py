"""Amazon reviews by stars, Zhang et al.'s files, as in Serrano & Smith (2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import streamed
from attentest.data.corpora.declared import Expected, Prepared, Rows
from attentest.data.corpora.zhang import SERRANO, Zhang
from attentest.data.sources.archive import Archive

__all__ = ["Amazon"]


@dataclass(frozen=True)
class Amazon(Zhang):
    """Reviews of products, by stars.

    3 million reviews, read as a stream; five classes.
    """

    name: ClassVar[str] = "amazon"
    summary: ClassVar[str] = "Reviews of products, by one to five stars (Amazon, full)"
    licence: ClassVar[str] = "none stated (research use)"
    homepage: ClassVar[str] = "https://snap.stanford.edu/data/web-Amazon.html"
    sources: ClassVar[tuple[Archive, ...]] = (
        Archive("https://s3.amazonaws.com/fast-ai-nlp/amazon_review_full_csv.tgz"),
    )
    fields: ClassVar[tuple[str, ...]] = ("id", "title", "text", "label")
    texts: ClassVar[tuple[str, ...]] = ()
    labels: ClassVar[tuple[str | int | None, ...]] = tuple(range(5))
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "rows", 3_000_000, SERRANO),
        Expected("test", "rows", 650_000, SERRANO),
        Expected("all", "average length", 73, SERRANO, because="of train and dev, perhaps without titles"),
    )

    title: Annotated[bool, "Read the review's title before it."] = True

    def prepare(self, rows: Rows) -> Prepared:
        """A stream: 3 million reviews are never held at once."""
        left_out: list[str] = []
        return Prepared(
            streamed(
                rows,
                lambda row: f"{row['title']} {row['text']}" if self.title else str(row["text"]),
                lambda row: int(row["label"]),
                left_out,
            ),
            ("1 star", "2 stars", "3 stars", "4 stars", "5 stars"),
            f"{'title and text' if self.title else 'text'}; spaCy tokens, lower case; a stratified tenth of train is "
            "dev",
            left_out,
        )

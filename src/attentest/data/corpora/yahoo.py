"""Yahoo! Answers by topic, Zhang et al.'s files, as in Serrano & Smith (2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import streamed
from attentest.data.corpora.declared import Expected, Prepared, Rows
from attentest.data.corpora.zhang import SERRANO, Zhang
from attentest.data.sources.archive import Archive
from attentest.errors import InputError
from attentest.parameters import Several

__all__ = ["Yahoo"]

TOPICS = (
    "society & culture",
    "science & mathematics",
    "health",
    "education & reference",
    "computers & internet",
    "sports",
    "business & finance",
    "entertainment & music",
    "family & relationships",
    "politics & government",
)
PARTS = ("title", "question", "answer")


@dataclass(frozen=True)
class Yahoo(Zhang):
    """Questions with their best answer, by topic.

    1.4 million questions with their best answers, read as a stream; ten topics.
    """

    name: ClassVar[str] = "yahoo"
    summary: ClassVar[str] = "Questions with their best answer, by one of ten topics (Yahoo! Answers)"
    licence: ClassVar[str] = "Yahoo! Webscope terms (research use)"
    homepage: ClassVar[str] = "https://webscope.sandbox.yahoo.com/catalog.php?datatype=l"
    sources: ClassVar[tuple[Archive, ...]] = (Archive("https://s3.amazonaws.com/fast-ai-nlp/yahoo_answers_csv.tgz"),)
    columns: ClassVar[tuple[str, ...]] = PARTS
    fields: ClassVar[tuple[str, ...]] = ("id", *PARTS, "label")
    texts: ClassVar[tuple[str, ...]] = ()
    labels: ClassVar[tuple[str | int | None, ...]] = tuple(range(10))
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "rows", 1_400_000, SERRANO),
        Expected("test", "rows", 60_000, "Zhang et al. 2015"),
        Expected("test", "instances", 50_000, SERRANO, because="Serrano & Smith made their own split of the source"),
        Expected("all", "average length", 104, SERRANO, because="of train and dev of their own split"),
    )

    parts: Annotated[
        tuple[str, ...],
        "The texts that are read, one after the other: some of `title`, `question` and `answer`.",
        Several(),
    ] = PARTS

    def prepare(self, rows: Rows) -> Prepared:
        """A stream: 1.4 million texts are never held at once."""
        if other := [part for part in self.parts if part not in PARTS]:
            raise InputError(f"parts names {other[0]!r}, which is not one of {', '.join(PARTS)}.")
        left_out: list[str] = []
        return Prepared(
            streamed(
                rows,
                lambda row: " ".join(row[part] for part in self.parts),
                lambda row: int(row["label"]),
                left_out,
            ),
            TOPICS,
            f"{', '.join(self.parts)} joined; spaCy tokens, lower case; a stratified tenth of train is dev",
            left_out,
        )

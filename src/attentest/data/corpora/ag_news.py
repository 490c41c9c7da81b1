"""AG News, world against business as Jain & Wallace (2019) did, and all four topics."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from attentest.data.catalog.cleaning import Limits, counted, held_out, instances, shuffled
from attentest.data.corpora.declared import Expected, Instance, Prepared, Rows
from attentest.data.corpora.zhang import Zhang
from attentest.data.sources.archive import Archive
from attentest.parameters import Within

__all__ = ["AGNews", "AGNews4", "News"]

TOPICS = ("world", "sports", "business", "sci/tech")
#: The parts of a partial training set that are drawn alike from every class.
UNCONFOUNDED = ("head", "random5k")
TABLE_1 = "Jain & Wallace 2019, Table 1"
TABLE_5 = "Tutek & Šnajder 2020, Table 5"
DEV = "a tenth of train is held out as dev, and train may be partial"
OFFICIAL = (
    Expected("train", "rows", 120_000, "Zhang et al. 2015"),
    Expected("test", "rows", 7_600, "Zhang et al. 2015"),
)


@dataclass(frozen=True)
class News(Zhang, ABC):
    """The descriptions of news items about some of the topics."""

    topics: ClassVar[tuple[int, ...]]
    licence: ClassVar[str] = "non-commercial research (AG's corpus of news articles)"
    homepage: ClassVar[str] = "http://groups.di.unipi.it/~gulli/AG_corpus_of_news_articles.html"
    sources: ClassVar[tuple[Archive, ...]] = (Archive("https://s3.amazonaws.com/fast-ai-nlp/ag_news_csv.tgz"),)
    folder: ClassVar[str] = "ag_news"
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1, 2, 3)

    drop_extremes: Annotated[
        bool, "Leave out the shortest and the longest texts of every split, as the released code does."
    ] = False
    training: Annotated[int, "Train on so many of the items, drawn at random; 0: all.", Within(0, 10**9)] = 0

    def prepare(self, rows: Rows) -> Prepared:
        """The descriptions of these topics, cleaned; a complete training split before a partial one."""
        complete = rows.has("train")
        whole = rows("train") if complete else (r for r in rows("train_partial") if r["src"] in UNCONFOUNDED)
        left_out: list[str] = []
        limits = Limits(strict=self.drop_extremes)
        kept = {
            split: limits.within(
                split,
                instances(
                    (row for row in source if row["label"] in self.topics),
                    lambda row: row["text"],
                    lambda row: self.topics.index(row["label"]),
                ),
                left_out,
            )
            for split, source in (("train", whole), ("test", rows("test")))
        }
        dev = held_out([text.id for text in kept["train"]], [text.label for text in kept["train"]])
        splits = {
            "train": self._drawn([text for text in kept["train"] if text.id not in dev], left_out),
            "dev": [text for text in kept["train"] if text.id in dev],
            "test": kept["test"],
        }
        return Prepared(
            {split: sorted(texts, key=lambda text: shuffled(text.id)) for split, texts in splits.items()},
            [TOPICS[topic] for topic in self.topics],
            "description only; spaCy tokens, lower case, digits as qqq; a stratified tenth of train is dev"
            + ("; the shortest and longest texts of a split left out" if self.drop_extremes else ""),
            left_out,
            partial=""
            if complete
            else "train is 15,003 of 120,000 rows over the four topics: the first 10,429, and 4,574 of a random sample "
            "whose texts begin with the title",
        )

    def _drawn(self, texts: list[Instance], left_out: list[str]) -> list[Instance]:
        """Those to train on: a smaller draw is part of every larger one."""
        if not self.training or self.training >= len(texts):
            return texts
        counted(left_out, "train", len(texts) - self.training, f"not among the {self.training:,} drawn", "item")
        return sorted(texts, key=lambda text: shuffled(text.id))[: self.training]


@dataclass(frozen=True)
class AGNews(News):
    """News about the world or about business.

    The descriptions of news items, world against business. A tenth of the training items becomes dev. Where only a
    part of the training file could be had, it is used and named as partial.
    """

    name: ClassVar[str] = "ag_news"
    summary: ClassVar[str] = "Short news items about the world or about business (AG News)"
    topics: ClassVar[tuple[int, ...]] = (0, 2)
    expected: ClassVar[tuple[Expected, ...]] = (
        *OFFICIAL,
        *(Expected("train", f"class {topic}", 30_000, TABLE_1, ("paper",), DEV) for topic in ("world", "business")),
        *(Expected("test", f"class {topic}", 1_900, TABLE_1, ("paper",)) for topic in ("world", "business")),
        Expected("train", "vocabulary", 14_752, TABLE_1, ("paper",), DEV),
        Expected("train", "average length", 36, TABLE_1, ("paper",), DEV),
        Expected("train", "vocabulary", 15_286, TABLE_5, ("paper",), "their preparation is their own"),
        Expected("train", "average length", 31, TABLE_5, ("paper",), "their preparation is their own"),
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {"paper": {}, "released": {"drop_extremes": True}}


@dataclass(frozen=True)
class AGNews4(News):
    """News about one of four topics.

    The same items with all four topics. It shares the files of `ag_news`.
    """

    name: ClassVar[str] = "ag_news4"
    summary: ClassVar[str] = "Short news items about the world, sports, business or science (AG News, four topics)"
    topics: ClassVar[tuple[int, ...]] = (0, 1, 2, 3)
    expected: ClassVar[tuple[Expected, ...]] = (
        *OFFICIAL,
        *(Expected("test", f"class {topic}", 1_900, "Zhang et al. 2015") for topic in TOPICS),
    )

"""AG News, world against business as Jain & Wallace (2019) did, and all four topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from attentest.data.catalog.cleaning import Limits, csv_records, held_out, instances, shuffled
from attentest.data.corpora.declared import Declared, Expected, Prepared, Row, Rows
from attentest.data.corpora.official_files import found
from attentest.data.sources.archive import Archive
from attentest.errors import InputError

__all__ = ["AGNews", "AGNews4", "zhang_rows"]

TOPICS = ("world", "sports", "business", "sci/tech")
#: The parts of a partial training set that are drawn alike from every class.
UNCONFOUNDED = ("head", "random5k")
ZHANG = "Zhang, Zhao & LeCun 2015, Character-level convolutional networks for text classification"
ARCHIVE = Archive("https://s3.amazonaws.com/fast-ai-nlp/ag_news_csv.tgz")
LICENCE = "non-commercial research (AG's corpus of news articles)"
HOMEPAGE = "http://groups.di.unipi.it/~gulli/AG_corpus_of_news_articles.html"
TABLE_1 = "Jain & Wallace 2019, Table 1"
TABLE_5 = "Tutek & Šnajder 2020, Table 5"
DEV = "a tenth of train is held out as dev, and train may be partial"
OFFICIAL = (
    Expected("train", "rows", 120_000, "Zhang et al. 2015"),
    Expected("test", "rows", 7_600, "Zhang et al. 2015"),
)


def zhang_rows(path: Path, columns: Sequence[str]) -> Iterator[Row]:
    """One of Zhang et al.'s files: a label from 1, then texts; labels become numbers from 0."""
    for number, (label, *texts) in enumerate(csv_records(path, columns=(len(columns) + 1,))):
        if not label.isdigit() or label == "0":
            raise InputError(f"{path.name}, record {number + 1}: label {label!r} is not a number from 1.")
        yield {
            "id": f"{path.stem}-{number}",
            **dict(zip(columns, texts, strict=True)),
            "label": int(label) - 1,
        }


def _read(folder: Path) -> Mapping[str, Iterable[Row]]:
    files = {split: found(folder, f"{split}.csv") for split in ("train", "test")}
    return {split: zhang_rows(path, ("title", "text")) for split, path in files.items()}


def _prepare(rows: Rows, topics: Sequence[int], drop_extremes: bool) -> Prepared:
    """The descriptions of these topics, cleaned; a complete training split before a partial one."""
    complete = rows.has("train")
    whole = rows("train") if complete else (r for r in rows("train_partial") if r["src"] in UNCONFOUNDED)
    left_out: list[str] = []
    limits = Limits(strict=drop_extremes)
    kept = {
        split: limits.within(
            split,
            instances(
                (row for row in source if row["label"] in topics),
                lambda row: row["text"],
                lambda row: topics.index(row["label"]),
            ),
            left_out,
        )
        for split, source in (("train", whole), ("test", rows("test")))
    }
    dev = held_out([text.id for text in kept["train"]], [text.label for text in kept["train"]])
    splits = {
        "train": [text for text in kept["train"] if text.id not in dev],
        "dev": [text for text in kept["train"] if text.id in dev],
        "test": kept["test"],
    }
    return Prepared(
        {split: sorted(texts, key=lambda text: shuffled(text.id)) for split, texts in splits.items()},
        [TOPICS[topic] for topic in topics],
        "description only; spaCy tokens, lower case, digits as qqq; a stratified tenth of train is dev"
        + ("; the shortest and longest texts of a split left out" if drop_extremes else ""),
        left_out,
        partial=""
        if complete
        else "train is 15,003 of 120,000 rows over the four topics: the first 10,429, and 4,574 of a random sample "
        "whose texts begin with the title",
    )


@dataclass(frozen=True)
class AGNews(Declared):
    """News about the world or about business.

    The descriptions of news items, world against business. A tenth of the training items becomes dev. Where only a
    part of the training file could be had, it is used and named as partial.
    """

    name: ClassVar[str] = "ag_news"
    summary: ClassVar[str] = "Short news items about the world or about business (AG News)"
    licence: ClassVar[str] = LICENCE
    citation: ClassVar[str] = ZHANG
    homepage: ClassVar[str] = HOMEPAGE
    sources: ClassVar[tuple[Archive, ...]] = (ARCHIVE,)
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1, 2, 3)
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
    min_frequency: ClassVar[int] = 5

    drop_extremes: Annotated[
        bool, "Leave out the shortest and the longest texts of every split, as the released code does."
    ] = False

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """Zhang et al.'s train.csv and test.csv."""
        return _read(folder)

    def prepare(self, rows: Rows) -> Prepared:
        """Topics world (0) and business (1)."""
        return _prepare(rows, (0, 2), self.drop_extremes)


@dataclass(frozen=True)
class AGNews4(Declared):
    """News about one of four topics.

    The same items with all four topics. It shares the files of `ag_news`.
    """

    name: ClassVar[str] = "ag_news4"
    summary: ClassVar[str] = "Short news items about the world, sports, business or science (AG News, four topics)"
    licence: ClassVar[str] = LICENCE
    citation: ClassVar[str] = ZHANG
    homepage: ClassVar[str] = HOMEPAGE
    sources: ClassVar[tuple[Archive, ...]] = (ARCHIVE,)
    folder: ClassVar[str] = "ag_news"
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1, 2, 3)
    expected: ClassVar[tuple[Expected, ...]] = (
        *OFFICIAL,
        *(Expected("test", f"class {topic}", 1_900, "Zhang et al. 2015") for topic in TOPICS),
    )
    min_frequency: ClassVar[int] = 5

    drop_extremes: Annotated[bool, "Leave out the shortest and the longest texts of every split."] = False

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """Zhang et al.'s train.csv and test.csv."""
        return _read(folder)

    def prepare(self, rows: Rows) -> Prepared:
        """All four topics."""
        return _prepare(rows, range(4), self.drop_extremes)

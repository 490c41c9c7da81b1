"""Tweets that mention an adverse drug reaction, as Jain & Wallace (2019) released or as the authors give them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import Limits, cleaned, csv_records, drawn, held_out, shuffled
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.official_files import found
from attentest.data.sources.archive import Archive
from attentest.errors import InputError
from attentest.parameters import Within

__all__ = ["ADR"]

#: The seed of their notebook's 80/20 draw.
SEED = 13020
TABLE_1 = "Jain & Wallace 2019, Table 1"
DEV = "a tenth of train is held out as dev"


@dataclass(frozen=True)
class ADR(Declared):
    """Tweets about drugs: does one mention an adverse reaction?

    The tweets as Jain & Wallace (2019) released them, already in lemmas and with every drug as `DRUG`; or, from a
    `.tsv` of ids and texts that you have, tokenised here and drawn with the seed of their notebook. One tweet in
    eight has a reaction.
    """

    name: ClassVar[str] = "adr"
    summary: ClassVar[str] = "Tweets about medicines, with or without an adverse drug reaction"
    licence: ClassVar[str] = "none stated (research use; Twitter's terms)"
    citation: ClassVar[str] = "Nikfarjam et al. 2015, Pharmacovigilance from social media"
    homepage: ClassVar[str] = "https://github.com/successar/AttentionExplanation"
    sources: ClassVar[tuple[Archive, ...]] = (
        Archive(
            "https://github.com/successar/AttentionExplanation/archive/c6fb074cc0baa8be5385dab3322e2d8ce3996c42.tar.gz",
            members=("*/preprocess/Tweets/adr_dataset.csv",),
        ),
    )
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1)
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "class no reaction", 14_446, TABLE_1, because=DEV),
        Expected("train", "class reaction", 1_939, TABLE_1, because=DEV),
        Expected("test", "class no reaction", 3_636, TABLE_1),
        Expected("test", "class reaction", 487, TABLE_1),
        Expected("all", "vocabulary", 8_686, TABLE_1, because="they counted texts of all lengths"),
        Expected("train", "average length", 20, TABLE_1, because="printed as a whole number"),
    )
    min_frequency: ClassVar[int] = 2

    more_than: Annotated[int, "Keep tweets with more tokens than this.", Within(0, 10**9)] = 5
    fewer_than: Annotated[int, "Keep tweets with fewer tokens than this.", Within(0, 10**9)] = 100

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """A .tsv of tweet id, user id, label and text, else adr_dataset.csv of Jain & Wallace's release."""
        path = next(iter(sorted(folder.rglob("*.tsv"))), None) or found(folder, "adr_dataset.csv")
        rows = list(_released(path) if path.suffix == ".csv" else _tweets(path))
        if path.suffix == ".csv":
            names = dict.fromkeys(row["split"] for row in rows)
            return {split: [row for row in rows if row["split"] == split] for split in names}
        train, test = drawn([row["label"] for row in rows], 0.2, SEED)
        return {"train": [rows[i] for i in train], "test": [rows[i] for i in test]}

    def prepare(self, rows: Rows) -> Prepared:
        """Tokenised tweets as they are, others cleaned; a stratified tenth of train is dev where there is none."""
        limits = Limits(self.more_than, self.fewer_than)
        left_out: list[str] = []
        names = ("train", "dev", "test") if rows.has("dev") else ("train", "test")
        splits = {name: limits.within(name, _instances(rows(name)), left_out) for name in names}
        if "dev" not in splits:
            train = splits["train"]
            dev = held_out([tweet.id for tweet in train], [tweet.label for tweet in train])
            splits["dev"] = [tweet for tweet in train if tweet.id in dev]
            splits["train"] = [tweet for tweet in train if tweet.id not in dev]
        return Prepared(
            {name: sorted(splits[name], key=lambda tweet: shuffled(tweet.id)) for name in ("train", "dev", "test")},
            ("no reaction", "reaction"),
            "the released words as they are (lemmas, drugs as DRUG), raw tweets by spaCy in lower case with digits as "
            f"qqq; {self.more_than} < tokens < {self.fewer_than}"
            + ("" if rows.has("dev") else "; a stratified tenth of train is dev"),
            left_out,
        )


def _instances(rows: Iterable[Row]) -> Iterator[Instance]:
    for row in rows:
        tokens = row["text"].split() if row.get("tokenised") else next(cleaned([row["text"]]))
        yield Instance(row["id"], tokens, row["label"])


def _released(path: Path) -> Iterator[Row]:
    records = csv_records(path, columns=(3,))
    if (header := next(records, [])) != ["text", "label", "exp_split"]:
        raise InputError(f"{path.name} begins with {','.join(header)!r}, not 'text,label,exp_split'.")
    for number, (text, label, split) in enumerate(records):
        yield {
            "id": f"adr-{number}",
            "text": text,
            "label": _label(path, number, label),
            "split": split,
            "tokenised": True,
        }


def _tweets(path: Path) -> Iterator[Row]:
    for number, (tweet, _, label, text) in enumerate(csv_records(path, delimiter="\t", columns=(4,))):
        yield {"id": tweet, "text": text, "label": _label(path, number, label)}


def _label(path: Path, number: int, label: str) -> int:
    if label not in ("0", "1"):
        raise InputError(f"{path.name}, tweet {number + 1}: label {label!r} is neither 0 nor 1.")
    return int(label)

"""Counterfactually edited IMDB: reviews people changed just enough to turn their sentiment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.catalog.cleaning import cleaned, csv_records, shuffled
from attentest.data.corpora.cad_snli import edited
from attentest.data.corpora.declared import Declared, Expected, Instance, Prepared, Row, Rows
from attentest.data.corpora.official_files import found
from attentest.data.sources.archive import Archive
from attentest.errors import InputError

__all__ = ["CADIMDB"]

HEADER = ["Sentiment", "Text", "batch_id"]
CLASSES = ("Negative", "Positive")
VERSIONS = ("both", "original", "revised")
PAIRS = {"train": 1_707, "dev": 245, "test": 488}


@dataclass(frozen=True)
class CADIMDB(Declared):
    """Film reviews and their counterfactual revisions; the edited words are the rationale.

    People changed reviews as little as it takes to turn their sentiment. What they changed is marked, in the
    original and in the revision. Almost every original is in `imdb`'s training reviews too: do not train there and
    examine here.
    """

    name: ClassVar[str] = "cad_imdb"
    summary: ClassVar[str] = "Film reviews and revisions that turn their sentiment; the edited words are marked"
    licence: ClassVar[str] = "Apache-2.0"
    citation: ClassVar[str] = (
        "Kaushik, Hovy & Lipton 2020, Learning the difference that makes a difference with counterfactually-augmented "
        "data"
    )
    homepage: ClassVar[str] = "https://github.com/acmi-lab/counterfactually-augmented-data"
    sources: ClassVar[tuple[Archive, ...]] = (
        Archive(
            "https://github.com/acmi-lab/counterfactually-augmented-data/archive/"
            "6f232a1d2a11462a30ce08fb4825b734ab30828e.tar.gz",
            members=("*/sentiment/combined/paired/*.tsv",),
        ),
    )
    splits: ClassVar[tuple[str, ...]] = ("train", "dev", "test")
    fields: ClassVar[tuple[str, ...]] = ("id", "text", "label", "pair", "version")
    labels: ClassVar[tuple[str | int | None, ...]] = (0, 1)
    expected: ClassVar[tuple[Expected, ...]] = (
        *(Expected(split, "rows", 2 * pairs, "Kaushik et al. 2020") for split, pairs in PAIRS.items()),
        *(Expected(split, "class negative", pairs, "Kaushik et al. 2020") for split, pairs in PAIRS.items()),
        *(Expected(split, "class positive", pairs, "Kaushik et al. 2020") for split, pairs in PAIRS.items()),
    )

    version: Annotated[str, "`original` reviews, their `revised` versions, or `both`."] = "both"

    def __post_init__(self) -> None:
        if self.version not in VERSIONS:
            raise InputError(f"version={self.version!r} is not one of {', '.join(VERSIONS)}.")

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """sentiment/combined/paired/*_paired.tsv: each review followed by its revision."""
        files = {split: found(folder, f"{split}_paired.tsv") for split in PAIRS}
        return {split: _reviews(path) for split, path in files.items()}

    def prepare(self, rows: Rows) -> Prepared:
        """The tokens of either version that the other does not keep are its rationale."""
        splits = {split: sorted(self._edited(rows(split)), key=lambda text: shuffled(text.id)) for split in PAIRS}
        return Prepared(
            splits,
            ("negative", "positive"),
            "spaCy tokens, lower case, line breaks dropped; marked: tokens that the other version does not keep "
            "(longest common runs); almost every original is also in imdb's train, so do not train there and test here",
            rationale="human",
        )

    def _edited(self, rows: Iterable[Row]) -> Iterator[Instance]:
        rows = list(rows)
        texts = cleaned((row["text"].replace("<br />", " ") for row in rows), mask_digits=False)
        pairs: dict[str, dict[str, tuple[Row, list[str]]]] = {}
        for row, tokens in zip(rows, texts, strict=True):
            pairs.setdefault(row["pair"], {})[row["version"]] = (row, tokens)
        for name, pair in pairs.items():
            if set(pair) != {"original", "revised"}:
                raise InputError(f"Pair {name!r} has {' and '.join(sorted(pair))}: it needs an original and a revised.")
            changed = edited(pair["original"][1], pair["revised"][1])
            for version, places in zip(("original", "revised"), changed, strict=True):
                row, tokens = pair[version]
                if self.version in ("both", version):
                    marked = [place in places for place in range(len(tokens))]
                    yield Instance(row["id"], tokens, row["label"], rationale=marked)


def _reviews(path: Path) -> Iterator[Row]:
    records = csv_records(path, delimiter="\t", columns=(len(HEADER),))
    if (header := next(records, [])) != HEADER:
        raise InputError(f"{path.name} begins with {' '.join(header)!r}, not {' '.join(HEADER)!r}.")
    seen: set[str] = set()
    for number, (sentiment, text, pair) in enumerate(records, start=2):
        if sentiment not in CLASSES:
            raise InputError(f"{path.name}, record {number}: sentiment {sentiment!r} is not Negative or Positive.")
        version = "revised" if pair in seen else "original"
        seen.add(pair)
        yield {
            "id": f"{pair}-{version[0]}",
            "text": text,
            "label": CLASSES.index(sentiment),
            "pair": pair,
            "version": version,
        }

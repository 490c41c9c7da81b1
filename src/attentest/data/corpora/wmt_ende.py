"""WMT English–German: the training set of 4.5 million pairs as Stanford publishes it, and a sample of it."""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.corpora.declared import Expected, Prepared, Row, Rows
from attentest.data.corpora.official_files import found
from attentest.data.corpora.parallel import Parallel, sentence_pairs

__all__ = ["WMTEnDe", "WMTEnDeSample"]

CITATION = "Bojar et al. 2014, Findings of the 2014 workshop on statistical machine translation"


@dataclass(frozen=True)
class WMTEnDe(Parallel):
    """Parliament, web and news; dev is newstest2013, test newstest2014.

    4.5 million pairs, published in tokens already. Dev is newstest2013, test newstest2014.
    """

    name: ClassVar[str] = "wmt_ende"
    summary: ClassVar[str] = "Parliament, web and news, English to German (WMT 2014, 4.5 million pairs)"
    licence: ClassVar[str] = "not stated (research use)"
    citation: ClassVar[str] = CITATION
    homepage: ClassVar[str] = "https://nlp.stanford.edu/projects/nmt/"
    splits: ClassVar[tuple[str, ...]] = ("train", "newstest2013", "newstest2014")

    tokenizer: Annotated[str, "`whitespace`: the published tokens; `spacy`: cut once more by spaCy's rules."] = (
        "whitespace"
    )

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """{train,newstest2013,newstest2014}.{en,de}, line by line; pairs with an empty side are passed over."""
        return _read(folder, self.splits)

    def prepare(self, rows: Rows) -> Prepared:
        """The official splits."""
        names = {"train": "train", "dev": "newstest2013", "test": "newstest2014"}
        read = {split: partial(rows, name) for split, name in names.items()}
        return self.prepared(read, "dev is newstest2013, test newstest2014")


@dataclass(frozen=True)
class WMTEnDeSample(Parallel):
    """Ten thousand of the training pairs, for trying things out.

    Ten thousand of these pairs, to try things on: always named as partial. The test is newstest2014 in its filtered
    version.
    """

    name: ClassVar[str] = "wmt_ende_sample"
    summary: ClassVar[str] = "10,000 pairs of WMT, English to German, with newstest2013 and newstest2014"
    licence: ClassVar[str] = "MIT (the repository that holds the sample)"
    citation: ClassVar[str] = CITATION
    homepage: ClassVar[str] = "https://github.com/harvardnlp/seq2seq-attn"
    splits: ClassVar[tuple[str, ...]] = ("train_10k", "newstest2013", "newstest2014_2737")
    expected: ClassVar[tuple[Expected, ...]] = (
        Expected("train", "instances", 10_000, "the repository that holds the sample"),
        Expected("dev", "instances", 3_000, "official, newstest2013"),
        Expected("test", "instances", 3_003, "official, newstest2014", because="the filtered version has 2,737 pairs"),
    )

    tokenizer: Annotated[str, "`whitespace`: the published tokens; `spacy`: cut once more by spaCy's rules."] = (
        "whitespace"
    )

    def read_official(self, folder: Path) -> Mapping[str, Iterable[Row]]:
        """{train_10k,newstest2013,newstest2014_2737}.{en,de}, line by line."""
        return _read(folder, self.splits)

    def prepare(self, rows: Rows) -> Prepared:
        """The sample as it is published."""
        names = dict(zip(("train", "dev", "test"), self.splits, strict=True))
        return self.prepared(
            {split: partial(rows, name) for split, name in names.items()},
            "dev is newstest2013, test the filtered newstest2014",
            partial="train has 10,000 of the 4.5 million pairs of WMT",
        )


def _read(folder: Path, splits: Sequence[str]) -> Mapping[str, Iterable[Row]]:
    return {
        split: _plain(sentence_pairs(found(folder, f"{split}.en"), found(folder, f"{split}.de"), split))
        for split in splits
    }


def _plain(rows: Iterable[Row]) -> Iterator[Row]:
    """The Moses tokenizer writes an apostrophe as &apos;: back to characters."""
    for row in rows:
        yield {"id": row["id"], "en": html.unescape(row["en"]), "de": html.unescape(row["de"])}

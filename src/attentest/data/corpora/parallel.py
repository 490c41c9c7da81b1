"""What English–German corpora share: tokens of either language, and official files that go line by line."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from attentest.data.corpora.declared import Declared, Instance, Row
from attentest.data.corpora.official_files import line_pairs
from attentest.data.corpora.words import Words
from attentest.data.corpus import Task
from attentest.errors import InputError

__all__ = ["CLASSES", "Parallel", "sentence_pairs"]

#: Translations have no label: every instance is of this one class.
CLASSES = ("translation",)
TOKENIZERS = ("spacy", "whitespace")


@dataclass(frozen=True)
class Parallel(Declared, ABC):
    """English sentences that attention reads, and their German translations."""

    task: ClassVar[Task] = "translate"
    fields: ClassVar[tuple[str, ...]] = ("id", "en", "de")
    texts: ClassVar[tuple[str, ...]] = ("en", "de")
    min_frequency: ClassVar[int] = 2

    #: "spacy": spaCy's English and German rules, for a vocabulary of words. "whitespace": nothing is cut, so that
    #: joining the tokens by spaces gives the text back, which subwords and detokenised BLEU need.
    tokenizer: str = "spacy"
    lowercase: bool = False

    def __post_init__(self) -> None:
        if self.tokenizer not in TOKENIZERS:
            raise InputError(
                f"Corpus {self.name!r}: tokenizer={self.tokenizer!r} must be one of {', '.join(TOKENIZERS)}."
            )

    @property
    def preparation(self) -> str:
        """One line on how sentences become tokens."""
        tokens = "spaCy's English and German tokens" if self.tokenizer == "spacy" else "words between white space"
        return f"{tokens}, {'lower case' if self.lowercase else 'case kept'}"

    def instances(self, rows: Iterable[Row]) -> Iterator[Instance]:
        """The sentence pairs as instances."""
        languages = ("en", "de") if self.tokenizer == "spacy" else ("whitespace", "whitespace")
        english, german = (Words(language, lowercase=self.lowercase) for language in languages)
        for row in rows:
            yield Instance(row["id"], english.tokens(row["en"]), 0, target=german.tokens(row["de"]))


def sentence_pairs(english: Path, german: Path, prefix: str) -> Iterator[Row]:
    """The lines of two files as rows, numbered from 0; those that are empty on either side are passed over."""
    for number, (en, de) in enumerate(line_pairs(english, german)):
        if en.strip() and de.strip():
            yield {"id": f"{prefix}-{number}", "en": en.strip(), "de": de.strip()}

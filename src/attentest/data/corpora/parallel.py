"""What English–German corpora share: tokens of either language, and official files that go line by line."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from attentest.data.corpora.declared import Declared, Instance, Prepared, Row
from attentest.data.corpora.official_files import line_pairs
from attentest.data.corpora.words import Words
from attentest.data.subwords import Subwords
from attentest.errors import InputError
from attentest.parameters import Within
from attentest.tasks import TaskName

__all__ = ["CLASSES", "Parallel", "check_subwords", "sentence_pairs"]

#: Translations have no label: every instance is of this one class.
CLASSES = ("translation",)
TOKENIZERS = ("spacy", "whitespace")


@dataclass(frozen=True)
class Parallel(Declared, ABC):
    """English sentences that attention reads, and their German translations."""

    task: ClassVar[TaskName] = "translate"
    fields: ClassVar[tuple[str, ...]] = ("id", "en", "de")
    texts: ClassVar[tuple[str, ...]] = ("en", "de")
    min_frequency: ClassVar[int] = 2

    tokenizer: Annotated[
        str,
        "`spacy`: English and German words; `whitespace`: nothing is cut, so that the text can be put together again.",
    ] = "spacy"
    lowercase: Annotated[bool, "Lower case; by default case is kept."] = False
    subwords: Annotated[
        int,
        "So many pieces of words instead of words, learnt from both languages of the training pairs together "
        "(byte-pair encoding; 8000 is usual): hardly a word is unknown, and what is written can be read as text. "
        "Needs `tokenizer='whitespace'`. `0`: whole words.",
        Within(0, 10**6),
    ] = 0

    def __post_init__(self) -> None:
        if self.tokenizer not in TOKENIZERS:
            raise InputError(
                f"Corpus {self.name!r}: tokenizer={self.tokenizer!r} must be one of {', '.join(TOKENIZERS)}."
            )
        check_subwords(self.name, self.subwords)
        if self.subwords and self.tokenizer != "whitespace":
            raise InputError(
                f"Corpus {self.name!r}: subwords={self.subwords} needs tokenizer='whitespace', not "
                f"{self.tokenizer!r}: subwords are cut from the text as it is, so that it can be put together again."
            )

    @property
    def preparation(self) -> str:
        """One line on how sentences become tokens."""
        tokens = "spaCy's English and German tokens" if self.tokenizer == "spacy" else "words between white space"
        cut = f"; {Subwords.about(self.subwords)}" if self.subwords else ""
        return f"{tokens}, {'lower case' if self.lowercase else 'case kept'}{cut}"

    def prepared(
        self, splits: Mapping[str, Callable[[], Iterable[Row]]], preparation: str, partial: str = ""
    ) -> Prepared:
        """The sentence pairs of every split as instances; subwords are learnt from those of ``train``."""
        languages = ("en", "de") if self.tokenizer == "spacy" else ("whitespace", "whitespace")
        english, german = (Words(language, lowercase=self.lowercase) for language in languages)

        def pairs(rows: Iterable[Row]) -> Iterator[tuple[str, list[str], list[str]]]:
            for row in rows:
                yield row["id"], english.tokens(row["en"]), german.tokens(row["de"])

        subwords = None
        if self.subwords:
            both = (text for _, *texts in pairs(splits["train"]()) for text in texts)
            subwords = Subwords.learnt(both, self.subwords)
        return Prepared(
            splits={split: _instances(pairs(rows()), subwords) for split, rows in splits.items()},
            classes=CLASSES,
            preparation=f"{self.preparation}; {preparation}",
            partial=partial,
            min_frequency=1 if self.subwords else None,
        )


def _instances(pairs: Iterable[tuple[str, list[str], list[str]]], subwords: Subwords | None) -> Iterator[Instance]:
    for name, source, target in pairs:
        if subwords is None:
            yield Instance(name, source, 0, target=target)
        else:
            yield Instance(name, subwords.segment(source), 0, target=subwords.segment(target))


def check_subwords(name: str, subwords: int) -> None:
    """Whether a number of subwords can be one."""
    if subwords < 0:
        raise InputError(f"Corpus {name!r}: subwords={subwords} must be 0 (whole words) or more; 8000 is usual.")


def sentence_pairs(english: Path, german: Path, prefix: str) -> Iterator[Row]:
    """The lines of two files as rows, numbered from 0; those that are empty on either side are passed over."""
    for number, (en, de) in enumerate(line_pairs(english, german)):
        if en.strip() and de.strip():
            yield {"id": f"{prefix}-{number}", "en": en.strip(), "de": de.strip()}

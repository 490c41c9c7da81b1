"""Marks by a list: every occurrence of words, or of a pattern, marked as if the corpus had marked it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.data.corpus import Corpus, Split
from attentest.data.files.given import bytes_of_given
from attentest.errors import InputError
from attentest.tasks import TASKS

__all__ = ["Listed", "listed_words", "with_marks"]

#: Words of a list, at most, and characters of a pattern.
MOST_WORDS, LONGEST_PATTERN = 100_000, 1_000
#: Bytes of a file of words.
LARGEST = 16 << 20


@dataclass(frozen=True)
class Listed:
    """Which words are marked wherever they stand, whatever their case."""

    words: tuple[str, ...] = ()
    #: Regular expressions that a word must match as a whole, in RE2's syntax: none takes longer than its text.
    patterns: tuple[str, ...] = ()

    def marked(self, split: Split) -> np.ndarray:
        """One flag for every token, text after text."""
        tokens = split.table["tokens"].combine_chunks()
        lowered = pc.utf8_lower(tokens.flatten())
        marked: np.ndarray = pc.is_in(lowered, pa.array(self.words, pa.string())).to_numpy(zero_copy_only=False)
        for pattern in self.patterns:
            found = pc.match_substring_regex(lowered, f"^(?:{pattern})$", ignore_case=True)
            marked = marked | found.to_numpy(zero_copy_only=False)
        return marked

    def flags(self, split: Split) -> pa.ListArray:
        """The same, text by text."""
        offsets = np.concatenate([[0], np.cumsum(split.lengths)]).astype(np.int32)
        return pa.ListArray.from_arrays(offsets, pa.array(self.marked(split)))


def listed_words(given: str | Sequence[str] | None) -> Listed:
    """What ``mark`` names: words; patterns between slashes, as /s?he/; files of words, one a line, as @words.txt."""
    texts = (given,) if isinstance(given, str) else tuple(given or ())
    words: list[str] = []
    patterns: list[str] = []
    for text in texts:
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"mark={text!r} must be a word, a pattern between slashes, or @FILE.")
        if text.startswith("@") and len(text) > 1:
            words += _of_file(Path(text[1:]))
        elif len(text) > 2 and text[0] == text[-1] == "/":
            patterns.append(_pattern(text[1:-1]))
        else:
            words.append(text)
    return Listed(tuple(dict.fromkeys(word.lower() for word in words)), tuple(patterns))


def with_marks(corpus: Corpus, given: str | Sequence[str] | None) -> Corpus:
    """The corpus with these words marked, in the place of marks of its own; as it is where none are named."""
    listed = listed_words(given)
    if listed == Listed():
        return corpus
    if TASKS[corpus.task].writes:
        raise InputError(f"mark is for texts with classes, and {corpus.name!r} has texts to write: leave it out.")
    for text in (given,) if isinstance(given, str) else given or ():
        if not any(listed_words(text).marked(split).any() for split in corpus.splits.values()):
            raise InputError(f"No word of {corpus.name!r} is marked by {text}: name words that it has.")
    if all(listed.marked(split).all() for split in corpus.splits.values()):
        raise InputError(f"Every word of {corpus.name!r} is marked, so none is left to compare with: name fewer.")
    splits = {name: _marked(split, listed) for name, split in corpus.splits.items()}
    provenance = replace(corpus.provenance, rationale="listed")
    return replace(corpus, splits=splits, provenance=provenance, known_digest="")


def _marked(split: Split, listed: Listed) -> Split:
    kept = [name for name in split.table.column_names if name not in ("rationale", "annotations")]
    return Split(split.table.select(kept).append_column("rationale", listed.flags(split)))


def _of_file(path: Path) -> list[str]:
    try:
        found = [line.strip() for line in bytes_of_given(path, LARGEST).decode().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"mark=@{path} cannot be read ({error}). Give a file of words in UTF-8, one a line.") from None
    words = [word for word in found if word]
    if not words or len(words) > MOST_WORDS:
        raise InputError(f"mark=@{path} has {len(words):,} words; give 1 to {MOST_WORDS:,}, one a line.")
    return words


def _pattern(text: str) -> str:
    if len(text) > LONGEST_PATTERN:
        raise InputError(f"mark: a pattern of {len(text):,} characters; at most {LONGEST_PATTERN:,} are read.")
    try:
        pc.match_substring_regex(pa.array([""]), f"^(?:{text})$")
    except pa.ArrowInvalid as error:
        raise InputError(f"mark=/{text}/ is no regular expression of RE2 ({error}). Mend it, or name words.") from None
    return text

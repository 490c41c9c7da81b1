"""Texts to tokens word by word: spaCy cuts at white space first, so every word needs cutting only once.

Each token is known to come from one word, which is what marks on words (rationales) need. The tokens are those of
the whole text but for rare cases: of 8,000 reviews, one is cut otherwise.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from typing import Any

from attentest.data.tokenizers import LONGEST_RUN, tokenize

__all__ = ["Words"]


class Words(dict[str, tuple[str, ...]]):
    """White-space words to their tokens: spaCy's rules for ``language``, or the word itself ("whitespace")."""

    def __init__(self, language: str = "en", *, lowercase: bool = True, mask_digits: bool = False) -> None:
        super().__init__()
        self.language = language
        self.lowercase = lowercase
        self.mask_digits = mask_digits

    def __missing__(self, word: str) -> tuple[str, ...]:
        pieces = word if self.language in ("en", "whitespace") else " ".join(_split(self.language, word))
        rule = "english" if self.language == "en" else "whitespace"
        (tokens,) = tokenize([pieces], rule, lowercase=self.lowercase, mask_digits=self.mask_digits)
        self[word] = tuple(tokens)
        return self[word]

    def tokens(self, text: str) -> list[str]:
        """The text's tokens."""
        return [token for word in text.split() for token in self[word]]

    def marked(self, text: str, words: Collection[int]) -> list[bool]:
        """For every token, whether it comes from one of these words (counted between white space, from 0)."""
        return [place in words for place, word in enumerate(text.split()) for _ in self[word]]


@cache
def _tokenizer(language: str) -> Any:
    import spacy

    return spacy.blank(language).tokenizer


def _split(language: str, word: str) -> list[str]:
    parts = (word[start : start + LONGEST_RUN] for start in range(0, len(word), LONGEST_RUN))
    return [token.text for part in parts for token in _tokenizer(language)(part)]

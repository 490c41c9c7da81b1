"""Text to tokens: the tokenizers, in one table."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from attentest.data.files.scripts import characters_of
from attentest.errors import UnknownName

__all__ = ["TOKENIZERS", "Tokenizer", "tokenize"]

Tokenizer = Callable[[Iterable[str]], Iterator[list[str]]]

#: spaCy needs time quadratic in the length of a run of brackets or marks; real words end far sooner.
LONGEST_RUN = 500
_TOO_LONG = re.compile(rf"\S{{{LONGEST_RUN}}}")


@cache
def _spacy_english() -> Any:
    import spacy

    return spacy.blank("en").tokenizer


def _english(texts: Iterable[str]) -> Iterator[list[str]]:
    """spaCy's rule-based English tokens; a run without a space is cut every 500 characters.

    spaCy's rules for English, without a model to download; lower case. The default.
    """
    cut = (_TOO_LONG.sub(r"\g<0> ", text) for text in texts)
    for document in _spacy_english().pipe(cut):
        yield [token.text for token in document if not token.is_space]


def _whitespace(texts: Iterable[str]) -> Iterator[list[str]]:
    """The words between white space.

    For texts that are tokenised already, for other languages, and for files with a `rationale` column.
    """
    for text in texts:
        yield text.split()


def _characters(texts: Iterable[str]) -> Iterator[list[str]]:
    """The characters of scripts without spaces (Chinese, Japanese, Thai …); words of other scripts stay whole.

    For scripts that put no spaces between words: Chinese, Japanese, Thai, Lao, Khmer and Burmese. Each of their
    characters is a token, with the marks that stand on it; words of other scripts stay whole, and punctuation is
    apart.
    """
    return map(characters_of, texts)


TOKENIZERS: Mapping[str, Tokenizer] = {
    "english": _english,
    "whitespace": _whitespace,
    "characters": _characters,
}


def tokenize(
    texts: Iterable[str], tokenizer: str = "english", *, lowercase: bool = True, mask_digits: bool = False
) -> list[list[str]]:
    """Every text as tokens, lower-cased after splitting, without white space.

    ``mask_digits`` is Jain & Wallace's rule: a token that holds a digit becomes ``qqq``.
    """
    if tokenizer not in TOKENIZERS:
        raise UnknownName("tokenizer", tokenizer, TOKENIZERS)
    final = _Final(lowercase, mask_digits)
    return [[final[token] for token in tokens] for tokens in TOKENIZERS[tokenizer](texts)]


class _Final(dict[str, str]):
    """Tokens as split to tokens as kept: each is worked out, and stored, once."""

    def __init__(self, lowercase: bool, mask_digits: bool) -> None:
        super().__init__()
        self.lowercase = lowercase
        self.mask_digits = mask_digits

    def __missing__(self, token: str) -> str:
        kept = token.lower() if self.lowercase else token
        if self.mask_digits and any(character.isdigit() for character in token):
            kept = "qqq"
        self[token] = kept
        return kept

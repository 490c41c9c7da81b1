"""Scripts that are written without spaces between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

__all__ = ["characters_of", "share_without_spaces"]

#: First and last character of the blocks.
BLOCKS = (
    *((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x19E0, 0x19FF)),  # Thai, Lao, Burmese, Khmer
    *((0x3040, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F)),  # Hiragana and Katakana
    *((0x3005, 0x3007), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x323AF)),  # Chinese characters
)
#: Blocks of punctuation and symbols beyond ASCII.
MARKS = ((0x2000, 0x206F), (0x2E00, 0x2E7F), (0x3000, 0x3004), (0x3008, 0x303F), (0xFF00, 0xFF0F), (0xFF1A, 0xFF20))


def _class(blocks: Sequence[tuple[int, int]]) -> str:
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in blocks)


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{_class(BLOCKS)}]")


@cache
def _token() -> re.Pattern[str]:
    """A character of these scripts with the marks that stand on it, a word of any other, or one punctuation mark."""
    small = (chr(n) for low, high in BLOCKS[:4] for n in range(low, high + 1))
    joined = "".join(c for c in small if unicodedata.category(c) in ("Mn", "Mc")) + "\u3099\u309a\u0e33\u0eb3"
    marks = re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~") + _class(MARKS)
    word = rf"[^\s{_class(BLOCKS)}{marks}]+"
    return re.compile(rf"[{_class(BLOCKS)}][{joined}]*|{word}(?:['’-]{word})*|[^\s]")


def characters_of(text: str) -> list[str]:
    """The characters of a text in one of these scripts, and the words of others that stand in it."""
    return _token().findall(text)


def share_without_spaces(texts: Sequence[str]) -> float:
    """The share of the texts that are written, for the most part, without spaces between words."""
    found = sum(2 * len(_unspaced().findall(text)) > len("".join(text.split())) for text in texts if not text.isascii())
    return found / max(1, len(texts))

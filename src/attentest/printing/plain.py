"""Text with nothing hidden in it, and values as JSON has them."""

from __future__ import annotations

import json
import math
import unicodedata
from collections.abc import Mapping
from typing import Any

__all__ = ["hidden", "in_lines", "json_text", "plain", "printable", "visible", "visible_character"]

_JOINERS = "\u200c\u200d"  # they hold emoji and Persian words together
_HIDDEN = {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"}


def visible(text: str, longest: int | None = None) -> str:
    """The text with control characters, overrides and other invisible ones spelled out; cut if too long."""
    if longest is not None and len(text) > longest:
        text = text[: longest - 1] + "…"
    return text if text.isprintable() else "".join(map(visible_character, text))


def hidden(character: str) -> bool:
    """Whether nobody sees the character, or a terminal obeys it."""
    return unicodedata.category(character) in _HIDDEN and character not in _JOINERS


def visible_character(character: str) -> str:
    """The character, or its name."""
    if not hidden(character):
        return character
    return {"\n": "↵", "\t": "⇥"}.get(character, f"‹U+{ord(character):04X}›")


def in_lines(text: str) -> str:
    """The text with everything hidden spelled out but the ends of its lines."""
    return text if text.isprintable() else "\n".join(map(visible, text.split("\n")))


def json_text(value: Any) -> str:
    """The value as JSON, in lines; numbers that do not exist are null, and characters that nobody sees are escaped."""
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, indent=1)
    return text if printable(text) else "".join(map(_escaped, text))


def printable(text: str) -> bool:
    """Whether nothing is hidden in the text but the ends of its lines."""
    return all(line.isprintable() for line in text.split("\n"))


def _escaped(character: str) -> str:
    """As JSON escapes it; a line break can only be one of the layout."""
    return json.dumps(character)[1:-1] if hidden(character) and character != "\n" else character


def plain(value: Any) -> Any:
    """The value in the types of JSON; a number that is not finite is None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    if hasattr(value, "tolist"):  # NumPy's
        return plain(value.tolist())
    return str(value)

"""Bytes of a user's file as text: in the encoding that was named, or in the one that they look like."""

from __future__ import annotations

import codecs
from pathlib import Path

from attentest.errors import InputError, shown

__all__ = ["NAMED", "decoded", "encoding_named"]

#: By its first bytes; the longer marks stand first, since UTF-32's begins with that of UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: So large a share of letters beyond ASCII, and it is no text of a western European language.
MOST_ACCENTS = 0.25
#: Bytes that are looked at for a guess.
LOOKED_AT = 1 << 20
#: What is worth trying where nothing is guessed.
NAMED = "gb18030, shift_jis, euc-kr, cp1251, …"


def encoding_named(name: str) -> str:
    """The encoding by its name in Python; an unknown one is refused."""
    try:
        "a".encode(name)  # of a text: zlib and base64, say, are none
        return codecs.lookup(name).name
    except (LookupError, ValueError) as error:
        raise InputError(f"No encoding is called {shown(name)}: name one such as utf-8, cp1252, {NAMED}") from error


def decoded(path: Path, content: bytes, encoding: str | None = None) -> tuple[str, str]:
    """The text, and a line about how it was read where that was guessed; NUL characters are dropped."""
    known = encoding_named(encoding) if encoding else _by_mark(content)
    guessed = None if known else _wide(content)
    try:
        text = content.decode("utf-8-sig" if known == "utf-8" else known or guessed or "utf-8")
    except UnicodeError as error:
        if known or guessed or not _is_western(content):
            raise _undecodable(path, content, known or guessed or "utf-8", error) from error
        guessed = "cp1252"
        text = content.decode(guessed)
    text = text.replace("\0", "")
    if guessed is None:
        return text, ""
    how = f"read as {_called(guessed)}, which was guessed: if letters look wrong, name its encoding with --encoding"
    return text, f"{path.name}: {how}"


def _by_mark(content: bytes) -> str | None:
    return next((name for mark, name in MARKS if content.startswith(mark)), None)


def _wide(content: bytes) -> str | None:
    """UTF-16 without a mark, by where its zeros are."""
    part = content[: LOOKED_AT & ~1]
    pairs = len(part) // 2
    if pairs < 4 or b"\0" not in part:
        return None
    low, high = part[0::2].count(0), part[1::2].count(0)
    if high > 0.4 * pairs and low < 0.1 * pairs:
        return "utf-16-le"
    return "utf-16-be" if low > 0.4 * pairs and high < 0.1 * pairs else None


def _is_western(content: bytes) -> bool:
    """Whether it may be in the code page of western Windows, which holds all of Latin-1 that is text."""
    try:
        content.decode("cp1252")
    except UnicodeDecodeError:
        return False
    part = content[:LOOKED_AT]
    return b"\0" not in part and len(part.translate(None, bytes(range(128)))) <= MOST_ACCENTS * len(part)


def _called(encoding: str) -> str:
    return {"cp1252": "Windows-1252 (Latin-1)"}.get(encoding, encoding.upper())


def _undecodable(path: Path, content: bytes, encoding: str, error: UnicodeError) -> InputError:
    if not isinstance(error, UnicodeDecodeError):
        return InputError(f"{path.name} is not {_called(encoding)} ({error}): name its encoding (--encoding): {NAMED}.")
    line = content.count(b"\n", 0, error.start) + 1
    return InputError(
        f"{path.name} is not {_called(encoding)}: byte {content[error.start]:#04x} at offset {error.start} "
        f"(line {line}) cannot be decoded. Save the file as UTF-8, or name its encoding (--encoding): {NAMED}."
    )

"""Values and bytes that nobody expects."""

from __future__ import annotations

import json
from random import Random
from typing import Any

__all__ = ["TEXTS", "altered", "altered_json", "damaged", "hostile_text", "literal", "strange"]

#: Texts that break what takes texts for granted.
TEXTS = (
    *(
        "",
        " ",
        "\t",
        "\n",
        "\0",
        "a\0b",
        "\x1b[31mred\x1b[0m",
        "\x07",
        "\x7f",
        "\u202eabc",
        "\u200b",
        "\ufeff",
        "e\u0301" * 50,
    ),
    *(
        "nan",
        "NaN",
        "inf",
        "-inf",
        "None",
        "null",
        "true",
        "1e400",
        "1e-400",
        "0x10",
        "1_000",
        "١٢٣",
        "½",
        "-0",
        "1" * 400,
    ),
    *(
        "../../etc/passwd",
        "/etc/passwd",
        "~",
        "C:\\x",
        "con",
        ".",
        "..",
        "a/b",
        "*",
        "?",
        "$(id)",
        "`id`",
        "; ls",
        "%s%n",
    ),
    *(
        "<script>alert(1)</script>",
        "'; DROP TABLE x; --",
        "{{7*7}}",
        "${x}",
        "[red]x[/red]",
        "=1+1",
        '"',
        "'",
        "\\",
        "\\u0000",
    ),
    *(
        "x" * 5000,
        "word " * 3000,
        "🜁" * 300,
        "中文" * 200,
        "\ud800",
        "a\r\nb",
        "a\u2028b",
        "\x85",
        "--help",
        "-1",
        "@file",
    ),
)
#: Numbers that break what takes numbers for granted.
NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, 7, 100, 10**4, 10**9, 2**31, 2**32, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**30, 10**400),
    *(0.0, -0.0, 0.5, 1.0, 1.5, -2.5, 1e-300, 1e300, 1e308, 5e-324, float("inf"), float("-inf"), float("nan")),
)


def strange(draw: Random, depth: int = 0) -> Any:  # noqa: PLR0911 - one for each kind
    """A value of any type that JSON has."""
    kind = draw.randrange(7 if depth < 3 else 5)
    if kind == 0:
        return draw.choice(TEXTS)
    if kind == 1:
        return draw.choice(NUMBERS)
    if kind == 2:
        return draw.choice((None, True, False))
    if kind == 3:
        return draw.choice(([], {}, [[]], [{}], {"": None}, [None] * 5))
    if kind == 4:
        return nested(draw, draw.choice((5, 200, 3000)))
    if kind == 5:
        return [strange(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {draw.choice(TEXTS): strange(draw, depth + 1) for _ in range(draw.randrange(4))}


def nested(draw: Random, depth: int) -> Any:
    """Lists in lists, or objects in objects."""
    value: Any = 1
    for _ in range(depth):
        value = [value] if draw.random() < 0.5 else {"a": value}
    return value


def hostile_text(draw: Random) -> str:
    """A text of any kind."""
    return (
        draw.choice(TEXTS)
        if draw.random() < 0.7
        else "".join(map(chr, draw.choices(range(1, 0x2FFF), k=draw.randrange(30))))
    )


def literal(draw: Random) -> str:
    """A Python literal, or nearly one."""
    return draw.choice(
        (
            *(
                "0",
                "1",
                "-1",
                "3",
                "10**9",
                "1000000000",
                "1e999",
                "-1e999",
                "0.5",
                "0.999",
                "1.5",
                "True",
                "False",
                "None",
            ),
            *(
                "'x'",
                "''",
                "'attention'",
                "('attention',)",
                "('gradient', 'lrp')",
                "()",
                "(1,)",
                "(None,)",
                "('',)",
                "[]",
                "{}",
            ),
            *(
                "(0.1, 0.5)",
                "(0.5, 0.1)",
                "(1e999,)",
                "('a~b',)",
                "('attention~gradient',)",
                "'uniform'",
                "'kl'",
                "'full'",
            ),
            *(
                "b'x'",
                "1j",
                "...",
                "{1}",
                "{[]: 1}",
                "open('x')",
                "__import__('os')",
                "lambda: 1",
                "*x",
                "'\\d'",
                "'\\0'",
            ),
            *("0x" + "f" * 3000, "9" * 5000, "(" * 300, "[" * 200 + "]" * 200, "'" + "x" * 3000 + "'", "-" * 500 + "1"),
            *(
                "(" + "'attention'," * 200 + ")",
                "(((1,),),)",
                "99999999999999999999",
                "1_000_000",
                "0b101",
                "1 if 1 else 2",
            ),
        )
    )


def damaged(draw: Random, content: bytes) -> bytes:
    """The same bytes with a few accidents."""
    found = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 5, 20))):
        place = draw.randrange(len(found) + 1)
        match draw.randrange(7):
            case 0 if found:
                found[place % len(found)] ^= 1 << draw.randrange(8)
            case 1:
                del found[place:]
            case 2:
                found[place:place] = draw.randbytes(draw.choice((1, 2, 8, 64)))
            case 3:
                found[place:place] = draw.choice(
                    (b"\0", b"\xff", b"\n", b"\r", b'"', b",", b"\t", b"{", b"[", b"\xef\xbb\xbf")
                )
            case 4:
                found[place:place] = found[place : place + draw.choice((1, 10, 100))] * draw.choice((1, 2, 50))
            case 5:
                del found[place : place + draw.choice((1, 4, 50))]
            case _ if found:
                found[place % len(found) :][:8] = draw.randbytes(8)
    return bytes(found)


def altered(draw: Random, value: Any) -> Any:  # noqa: PLR0911 - one for each kind
    """A JSON value with one of its parts exchanged, dropped or doubled."""
    if isinstance(value, dict) and value and draw.random() < 0.9:
        key = draw.choice(list(value))
        match draw.randrange(5):
            case 0:
                return {name: one for name, one in value.items() if name != key}
            case 1:
                return {**value, draw.choice(TEXTS): strange(draw)}
            case 2:
                return {**value, key: strange(draw)}
            case _:
                return {**value, key: altered(draw, value[key])}
    if isinstance(value, list) and value and draw.random() < 0.9:
        place = draw.randrange(len(value))
        match draw.randrange(4):
            case 0:
                return value[:place] + value[place + 1 :]
            case 1:
                return value * draw.choice((2, 50))
            case 2:
                return [*value[:place], strange(draw), *value[place + 1 :]]
            case _:
                return [*value[:place], altered(draw, value[place]), *value[place + 1 :]]
    return strange(draw)


def altered_json(draw: Random, text: str) -> bytes:
    """A JSON text, altered as a value or as bytes."""
    if draw.random() < 0.25:
        return damaged(draw, text.encode())
    if draw.random() < 0.05:
        return draw.choice((b"[" * 100_000, b"", b"null", b"3", b'"x"', b"[]", b"{}", b'{"a":1' * 5000))
    value = json.loads(text)
    for _ in range(draw.choice((1, 1, 2, 4))):
        value = altered(draw, value)
    try:
        return json.dumps(value).encode("utf-8", "replace")
    except RecursionError:
        return b"[" * 5000 + b"]" * 5000

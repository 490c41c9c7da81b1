"""What is said of an entry where it is declared: its docstring, and the text in the type of each of its parameters."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any, get_type_hints

__all__ = ["about", "first_line", "words_of"]


def first_line(thing: object) -> str:
    """The first line of its docstring."""
    return inspect.cleandoc(thing.__doc__ or "").partition("\n")[0]


def about(thing: object) -> str:
    """What its docstring says after the first line, in Markdown."""
    return inspect.cleandoc(thing.__doc__ or "").partition("\n")[2].strip()


def words_of(cls: type[Any]) -> dict[str, str]:
    """What each parameter means, by its name: ``draws: Annotated[int, "Shuffles of each text."]``.

    A parameter that a subclass declares anew, with another default, keeps the words of its base unless given others.
    """
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        for name, hint in get_type_hints(base, include_extras=True).items():
            texts = (text for text in getattr(hint, "__metadata__", ()) if isinstance(text, str))
            found[name] = next(texts, found.get(name, ""))
    return {field.name: found.get(field.name, "") for field in dataclasses.fields(cls) if field.init}

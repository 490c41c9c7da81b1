"""What is said of an entry stands where it is declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from attentest.words import about, first_line, words_of


@dataclass(frozen=True)
class Small:
    """A thing.

    It is *small*,
    and has a size.
    """

    size: Annotated[int, "How large it is."] = 1
    colour: str = "red"


@dataclass(frozen=True)
class Large(Small):
    size: int = 9
    colour: Annotated[str, "What it looks like."] = "blue"


def test_the_docstring_is_a_line_and_what_follows_it():
    assert (first_line(Small), about(Small)) == ("A thing.", "It is *small*,\nand has a size.")


def test_a_parameter_declared_anew_keeps_its_words():
    assert words_of(Small) == {"size": "How large it is.", "colour": ""}
    assert words_of(Large) == {"size": "How large it is.", "colour": "What it looks like."}

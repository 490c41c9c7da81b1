"""Printing: to a console with colours, or lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TextIO

from rich.console import Console, ConsoleDimensions, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from attentest.printing.plain import hidden, in_lines, json_text, printable, visible_character

__all__ = ["Printer", "echo", "echo_json"]

#: Columns that are laid out, whatever is said of the terminal: of 0, nothing would be printed at all.
NARROWEST = 20


def echo(text: object = "", *, err: bool = False) -> None:
    """Print lines for a person."""
    _written(in_lines(str(text)), sys.stderr if err else sys.stdout)


def echo_json(value: Any) -> None:
    """Print a value for a program: what a terminal would obey is escaped, so that the value is the same."""
    _written(json_text(value), sys.stdout)


def _written(text: str, stream: TextIO) -> None:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        print(text.encode(encoding, "replace").decode(encoding), file=stream, flush=True)
    except BrokenPipeError:
        if stream is not sys.stderr:  # without its number, by which Typer would take it for a failure
            raise BrokenPipeError from None


class Printer(Console):
    """A console that shows every text without what a terminal obeys; its own colours are its own."""

    @property
    def size(self) -> ConsoleDimensions:
        """As wide as the terminal says (COLUMNS), or as the least that anything can be laid out in."""
        found = super().size
        return ConsoleDimensions(max(found.width, NARROWEST), found.height)

    @size.setter
    def size(self, size: tuple[int, int]) -> None:
        self._width, self._height = size

    def on_broken_pipe(self) -> None:
        """Whoever read the outcome has enough, as ``head`` has: that is no fault. Work in progress ends in one."""
        if self.stderr:
            super().on_broken_pipe()
        self.quiet = True
        raise BrokenPipeError

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Texts are made visible before they are laid out, and whatever else gives text, after."""
        if isinstance(renderable, Text) and not printable(renderable.plain):
            renderable = _visible_text(renderable)
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable() or printable(segment.text):
                yield segment
            else:
                yield Segment(in_lines(segment.text), segment.style)


def _visible_text(text: Text) -> Text:
    """The text with its styles; what is hidden is spelled out, line by line."""
    shown = Text(style=text.style, justify=text.justify, overflow=text.overflow, no_wrap=text.no_wrap, end=text.end)
    for number, line in enumerate(text.split("\n", allow_blank=True)):
        if number:
            shown.append("\n")
        if line.plain.isprintable():
            shown.append_text(line)
            continue
        for place, character in enumerate(line.plain):
            piece = line[place]
            shown.append_text(Text(visible_character(character), spans=[]) if hidden(character) else piece)
    return shown

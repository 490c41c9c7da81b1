"""Terminal output as text."""

from __future__ import annotations

import io

from rich.console import Console, RenderableType


def render(what: RenderableType, *, width: int = 80, colour: bool = False) -> str:
    """What a terminal of this width shows; plain unless ``colour`` is asked for."""
    console = Console(
        file=io.StringIO(), width=width, force_terminal=colour, color_system="truecolor" if colour else None
    )
    with console.capture() as capture:
        console.print(what)
    return "\n".join(line.rstrip() for line in capture.get().splitlines()) + "\n"

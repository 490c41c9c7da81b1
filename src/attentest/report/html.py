"""How every page is made: templates whose values are made visible and escaped, whatever a template forgets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jinja2

from attentest.report.tables import visible

__all__ = ["environment"]


def environment(told: Callable[[str], str] = str, **known: Any) -> jinja2.Environment:
    """The templates of this package; ``known`` names what all of them may use.

    The filter ``told`` says the page's own sentences in other words, where rows are not texts.
    """
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("attentest.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= known
    made.filters["told"] = lambda text: type(text)(told(str(text)))
    return made


def _shown(value: Any) -> Any:
    """Text with nothing hidden in it, and no line broken before a per cent sign."""
    return visible(value).replace(" %", "\N{NO-BREAK SPACE}%") if type(value) is str else value

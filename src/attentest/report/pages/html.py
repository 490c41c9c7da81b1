"""How every page is made: templates whose values are made visible and escaped, whatever a template forgets."""

from __future__ import annotations

from importlib import resources
from typing import Any

import jinja2

from attentest.presentation.text import visible

__all__ = ["environment"]


def environment(**known: Any) -> jinja2.Environment:
    """The templates of the report, and those that other packages bring; ``known`` names what all of them may use."""
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("attentest.report", "templates"), jinja2.FunctionLoader(_in_package)]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= known
    return made


def _shown(value: Any) -> Any:
    """Text with nothing hidden in it, and no line broken before a per cent sign."""
    return visible(value).replace(" %", "\N{NO-BREAK SPACE}%") if type(value) is str else value


def _in_package(name: str) -> str | None:
    """The template ``package/file``."""
    package, _, file = name.rpartition("/")
    return resources.files(package).joinpath(file).read_text("utf-8") if package else None

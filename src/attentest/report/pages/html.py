"""How every page is made: templates whose values are made visible and escaped, whatever a template forgets."""

from __future__ import annotations

from importlib import resources
from types import CodeType
from typing import Any

import jinja2
from jinja2.bccache import Bucket

from attentest.presentation.text import visible

__all__ = ["environment"]


class _Compiled(jinja2.BytecodeCache):
    """Templates are compiled once for all pages of a process, whatever names each of them may use."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, CodeType | None]] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """What was compiled of the same text."""
        checksum, code = self._kept.get(bucket.key, ("", None))
        bucket.code = code if checksum == bucket.checksum else None

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what was compiled."""
        self._kept[bucket.key] = bucket.checksum, bucket.code


_COMPILED = _Compiled()


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
        bytecode_cache=_COMPILED,
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

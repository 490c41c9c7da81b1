"""A registry is a visible table from names to frozen values, open to entry points.

A value's text is its identity and its command-line syntax: ``adversary(epsilon=0.05)``.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from attentest.errors import InputError, UnknownName

__all__ = ["Named", "Registry", "Table", "name_in_words", "parameters_of", "text_of"]

#: Names that people do not write as their parts would have it.
SPELLED = {"leave one out": "leave-one-out"}


class Named(Protocol):
    """A class of frozen dataclasses with a name."""

    name: ClassVar[str]


N = TypeVar("N", bound=Named)
T = TypeVar("T")


def text_of(value: Named) -> str:
    """The value as text: its name, and the fields that differ from their defaults."""
    shown = [
        f"{field.name}={getattr(value, field.name)!r}"
        for field in dataclasses.fields(cast("Any", value))
        if getattr(value, field.name) != _default(field)
    ]
    return f"{value.name}({', '.join(shown)})" if shown else value.name


def name_in_words(text: str, among: Iterable[str] | None = None) -> str:
    """What people call the value that has this text: ``gradient_x_input(n=2)`` is gradient × input (n 2).

    ``among`` are the texts it stands beside: its parameters are left out where none of them has the same name. Of a
    pair, ``attention~leave_one_out``, it is attention ↔ leave-one-out.
    """
    if "~" in text:
        return " ↔ ".join(name_in_words(part, among) for part in text.split("~"))
    name, bracket, rest = text.partition("(")
    plain = name.replace("_x_", " × ").replace("_", " ")
    plain = SPELLED.get(plain, plain)
    if not bracket or not (among is None or any(o != text and o.partition("(")[0] == name for o in among)):
        return plain
    try:
        call = ast.parse(f"_({rest}", mode="eval").body
    except SyntaxError:
        return f"{plain} ({rest}"
    given = call.keywords if isinstance(call, ast.Call) else []
    shown = (f"{field.arg} {ast.unparse(field.value)}".replace("_", " ").replace("'", "") for field in given)
    return f"{plain} ({', '.join(shown)})"


def parameters_of(value: Named) -> dict[str, Any]:
    """The value's fields by name, defaults included."""
    return {field.name: getattr(value, field.name) for field in dataclasses.fields(cast("Any", value))}


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


class Table(Mapping[str, T], Generic[T]):
    """Names to values, with those of other packages' entry points; attentest's own names win."""

    def __init__(self, kind: str, table: Mapping[str, T], plural: str = "") -> None:
        self.kind = kind
        self.plural = plural or f"{kind}s"
        self._table = dict(table)
        self._plugins: dict[str, T] | None = None

    def _all(self) -> dict[str, T]:
        if self._plugins is None:
            found = entry_points(group=f"attentest.{self.plural}")
            self._plugins = {point.name: cast("T", point.load()) for point in found if point.name not in self._table}
        return self._table | self._plugins

    def is_own(self, name: str) -> bool:
        """Whether it is one of attentest's own, not of another package."""
        return name in self._table

    def __getitem__(self, name: str) -> T:
        table = self._all()
        if name not in table:
            raise UnknownName(self.kind, name, table)
        return table[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, name: object) -> bool:
        return name in self._all()


class Registry(Table[type[N]], Generic[N]):
    """Names to classes; ``parse`` turns text into a value, with errors that help."""

    def parse(self, text: str) -> N:
        """``name`` or ``name(field=literal, …)`` as a value; names may hold hyphens."""
        return self._make(*self._read(text))

    def parameters(self, text: str) -> frozenset[str]:
        """The parameters that the text itself gives, whatever their values."""
        return frozenset(self._read(text)[1])

    def _read(self, text: str) -> tuple[str, dict[str, Any]]:
        name, bracket, rest = text.strip().partition("(")
        if not re.fullmatch(r"[\w.+-]+", name.strip()):
            raise self._unreadable(text)
        try:
            node = ast.parse(f"_({rest}" if bracket else "_()", mode="eval").body
            if not isinstance(node, ast.Call) or node.args or not isinstance(node.func, ast.Name):
                raise self._unreadable(text)
            fields = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
        except (SyntaxError, ValueError) as error:
            raise self._unreadable(text) from error
        return name.strip(), fields

    def _unreadable(self, text: str) -> InputError:
        article = "an" if self.kind[0] in "aeiou" else "a"
        return InputError(
            f"{text!r} is not {article} {self.kind}: write a name, or name(field=value, …) with plain values."
        )

    def _make(self, name: str, given: dict[str, Any]) -> N:
        cls = self[name]
        known = {field.name: field for field in dataclasses.fields(cast("Any", cls)) if field.init}
        for field, value in given.items():
            if field not in known:
                near = difflib.get_close_matches(field, known, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else f"It has: {', '.join(known) or 'none'}."
                raise InputError(f"{self.kind} {name!r} has no parameter {field!r}. {hint}")
            default = _default(known[field])
            if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
                given[field] = float(value)
            elif isinstance(default, bool | int | float | str | tuple) and type(value) is not type(default):
                raise InputError(
                    f"{self.kind} {name!r}: {field}={value!r} must be of type {type(default).__name__}, "
                    f"as the default {default!r} is."
                )
        return cls(**given)

"""A registry is a table from names to frozen values, open to entry points.

It is written down, or found: what a package's modules define is in it, and nobody lists them. A value's text is its
identity and its command-line syntax: ``adversary(epsilon=0.05)``.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import importlib
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

from attentest.errors import InputError, UnknownName, shown
from attentest.parameters import check_parameter

__all__ = [
    "Named",
    "Registry",
    "Table",
    "classes_below",
    "modules_below",
    "name_in_words",
    "parameters_of",
    "text_of",
]

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


def modules_below(package: str, called: str = "") -> Iterator[ModuleType]:
    """The modules of a package and of the packages in it, in the order of their names; only those ``called`` so."""
    folder = importlib.import_module(package).__path__
    for found in sorted(pkgutil.iter_modules(folder, f"{package}."), key=lambda found: found.name):
        if found.ispkg:
            yield from modules_below(found.name, called)
        elif not called or found.name.endswith(f".{called}"):
            yield importlib.import_module(found.name)


def classes_below(package: str, base: type[Any], called: str = "") -> dict[str, type[Any]]:
    """The subclasses with a name of their own that these modules define, by their names."""
    defined = (
        value
        for module in modules_below(package, called)
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    )
    return {vars(cls)["name"]: cls for cls in defined if issubclass(cls, base) and "name" in vars(cls)}


class Table(Mapping[str, T], Generic[T]):
    """Names to values, with those of other packages' entry points; attentest's own names win.

    A table that is a function is made when it is first asked for something; ``made_of`` makes a value of what an entry
    point names, where that is not the value itself.
    """

    def __init__(
        self,
        kind: str,
        table: Mapping[str, T] | Callable[[], Mapping[str, T]],
        plural: str = "",
        made_of: Callable[[Any], T] | None = None,
    ) -> None:
        self.kind = kind
        self._made_of = made_of or (lambda named: cast("T", named))
        self.plural = plural or f"{kind}s"
        self._given = table

    @cached_property
    def own(self) -> dict[str, T]:
        """Those of attentest itself."""
        return dict(self._given() if callable(self._given) else self._given)

    @cached_property
    def _plugins(self) -> dict[str, T]:
        found = entry_points(group=f"attentest.{self.plural}")
        new = [point for point in found if point.name not in self.own]
        return {point.name: self._made_of(point.load()) for point in new}

    @property
    def _all(self) -> dict[str, T]:
        return self.own | self._plugins

    def is_own(self, name: str) -> bool:
        """Whether it is one of attentest's own, not of another package."""
        return name in self.own

    def __getitem__(self, name: str) -> T:
        table = self._all
        if name not in table:
            raise UnknownName(self.kind, name, table)
        return table[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, name: object) -> bool:
        return name in self._all


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
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python's own, about texts such as 'a\\d'
                node = ast.parse(f"_({rest}" if bracket else "_()", mode="eval").body
            if not isinstance(node, ast.Call) or node.args or not isinstance(node.func, ast.Name):
                raise self._unreadable(text)
            if any(k.arg is None for k in node.keywords):
                raise self._unreadable(text)
            fields = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
            raise self._unreadable(text) from error
        if len(fields) < len(node.keywords):
            raise self._unreadable(text)
        return name.strip(), fields

    def _unreadable(self, text: str) -> InputError:
        article = "an" if self.kind[0] in "aeiou" else "a"
        return InputError(
            f"{shown(text, 200)} is not {article} {self.kind}: write a name, or name(field=value, …) with plain values."
        )

    def _make(self, name: str, given: dict[str, Any]) -> N:
        cls = self[name]
        known = {field.name: field for field in dataclasses.fields(cast("Any", cls)) if field.init}
        for field, value in given.items():
            if field not in known:
                near = difflib.get_close_matches(field, known, n=1)
                hint = f"Did you mean {near[0]!r}?" if near else f"It has: {', '.join(known) or 'none'}."
                raise InputError(f"{self.kind} {name!r} has no parameter {field!r}. {hint}")
            given[field] = check_parameter(cls, self.kind, field, value, _default(known[field]))
        return cls(**given)

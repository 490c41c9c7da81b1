"""What a parameter may be, said once, in its type: ``draws: Annotated[int, "Shuffles.", Within(1, 10_000)] = 100``.

The type itself counts too, and the type of what a tuple holds: a registry checks all of it before it makes a value of
a text. Values made in Python keep to the bounds too.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Union, get_args, get_origin, get_type_hints

from attentest.errors import InputError, shown

__all__ = ["POSITIVE", "SEEDS", "SHARE", "Checked", "Several", "Within", "check_parameter", "rules_of"]


@dataclass(frozen=True)
class Within:
    """A number, or every number of a tuple, is at least ``least`` and at most ``most``; ``without``: not these."""

    least: float
    most: float
    without: tuple[float, ...] = ()

    def refuse(self, at: str, value: Any) -> None:
        """Refuse a number outside of the bounds, and one that is none."""
        for number in value if isinstance(value, tuple) else (value,):
            if not (self.least <= number <= self.most and number not in self.without):
                raise InputError(f"{at}={shown(value)} must {self._words(number)}.")

    def _words(self, number: float) -> str:
        least, most = (f"{end:g}" if isinstance(end, float) else str(end) for end in (self.least, self.most))
        if {self.least, self.most} <= {*self.without}:
            return f"lie between {least} and {most}"
        if self.least in self.without and not self.least < number:
            return f"be above {least}, and at most {most}"
        if self.most in self.without and not number < self.most:
            return f"be at least {least}, and below {most}"
        if number in self.without:
            return f"be a number other than {number:g}"
        return f"be at least {least}" if number < self.least else f"be at most {most}"


@dataclass(frozen=True)
class Several:
    """A tuple holds at least so many, and at most so many."""

    least: int = 1
    most: int = 100

    def refuse(self, at: str, value: Any) -> None:
        """Refuse a tuple that is too short or too long."""
        if len(value) < self.least:
            raise InputError(f"{at}={shown(value)} must name at least {'one' if self.least == 1 else self.least}.")
        if len(value) > self.most:
            raise InputError(f"{at}={shown(value)} names {len(value)}, and {self.most} are the most. Name fewer.")


#: A parameter's type, and the rules for its value.
Rules = tuple[Any, tuple[Within | Several, ...]]
_FOUND: dict[type[Any], dict[str, Rules]] = {}

#: What every generator of random numbers takes.
SEEDS = Within(0, 2**32 - 1)
#: A weight, a width, a step: more than nothing.
POSITIVE = Within(0, 1e9, without=(0,))
#: A part of a whole, neither none nor all of it.
SHARE = Within(0, 1, without=(0, 1))


def check_parameter(cls: type[Any], kind: str, field: str, value: Any, default: Any) -> Any:
    """The value as the field takes it; refuses one of another type, or outside of what is declared."""
    hint, rules = rules_of(cls)[field]
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
    if not _is(hint, value) or (isinstance(default, bool | int | float | str | tuple) and not _like(default, value)):
        held = next(iter(_elements(hint)), "") if isinstance(value, tuple) else ""
        wanted = f"hold values of type {held}" if held else f"be of type {type(default).__name__}"
        raise InputError(
            f"{kind} {cls.name!r}: {field}={shown(value)} must {wanted}, as the default {shown(default)} "
            f"{'does' if held else 'is'}."
        )
    _refuse(cls, field, value, rules)
    return value


class Checked:
    """A value that keeps to what its parameters declare, whoever makes it."""

    def __post_init__(self) -> None:
        for field, (_, rules) in rules_of(type(self)).items():
            _refuse(type(self), field, getattr(self, field), rules)


def _refuse(cls: type[Any], field: str, value: Any, rules: tuple[Within | Several, ...]) -> None:
    at = f"{cls.name}: {field}"
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"{at}={value} must be a finite number.")
    for rule in rules:
        rule.refuse(at, value)


def rules_of(cls: type[Any]) -> dict[str, Rules]:
    """The type of every parameter, and what else is declared of it, by itself or by a base."""
    if cls not in _FOUND:
        found: dict[str, Rules] = {}
        for base in reversed(cls.__mro__):
            for name, hint in get_type_hints(base, include_extras=True).items():
                own = tuple(rule for rule in getattr(hint, "__metadata__", ()) if isinstance(rule, Within | Several))
                plain = hint.__origin__ if hasattr(hint, "__metadata__") else hint
                found[name] = (plain, own or found.get(name, (None, ()))[1])
        _FOUND[cls] = {field.name: found[field.name] for field in dataclasses.fields(cls) if field.init}
    return _FOUND[cls]


def _like(default: Any, value: Any) -> bool:
    return type(value) is type(default)


def _is(hint: Any, value: Any) -> bool:
    """Whether the value, and what it holds, is of the type; types of other kinds are not looked at."""
    if get_origin(hint) in (Union, types.UnionType):
        return any(_is(one, value) for one in get_args(hint))
    if get_origin(hint) is tuple:
        kinds = get_args(hint)
        return isinstance(value, tuple) and (
            kinds[1:] != (...,) or all(_is(kinds[0], one) or (kinds[0] is float and _is(int, one)) for one in value)
        )
    if hint in (bool, int, float, str):
        return type(value) is hint
    return hint is not type(None) or value is None


def _elements(hint: Any) -> Iterator[str]:
    """The name of the type of what a tuple holds."""
    for one in (hint, *get_args(hint)):
        if get_origin(one) is tuple:
            kind = get_args(one)[0]
            yield getattr(kind, "__name__", str(kind))

"""TOML that a person wrote, as frozen values: a mistake is named with its file, its place and a suggestion."""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from attentest.errors import InputError, suggestion

__all__ = ["NO_KEY", "built", "tables"]

T = TypeVar("T")
#: The metadata of a field that no file gives.
NO_KEY = types.MappingProxyType({"key": False})
_WORDS = {str: "a text", float: "a number", int: "a whole number", bool: "true or false"}


def tables(text: str, file: str) -> dict[str, Any]:
    """The file's content as plain values."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file} is not TOML: {error}.") from error


def built(cls: type[T], values: object, file: str, path: str) -> T:
    """A dataclass from a table: every key must be a field, every value of the field's type."""
    if not isinstance(values, Mapping):
        raise InputError(f"{file}: {path} must be a table, not {values!r}.")
    kinds = typing.get_type_hints(cls)
    every = dataclasses.fields(typing.cast("Any", cls))
    fields = {field.name: field for field in every if field.metadata.get("key", True)}
    for key in values:
        if key not in fields:
            raise InputError(f"{file}: {path}.{key} is not known. {suggestion(str(key), fields)}")
    for name, field in fields.items():
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if needed and name not in values:
            raise InputError(f"{file}: {path} lacks {name!r}.")
    given = {key: _value(kinds[key], value, file, f"{path}.{key}") for key, value in values.items()}
    try:
        return cls(**given)
    except ValueError as error:
        raise InputError(f"{file}: {path}: {error}") from error


def _value(kind: Any, value: object, file: str, path: str) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        wanted = [one for one in arguments if one is not type(None)]
        return _value(next((one for one in wanted if _fits(one, value)), wanted[0]), value, file, path)
    if dataclasses.is_dataclass(kind):
        return built(typing.cast("type[Any]", kind), value, file, path)
    if origin is tuple:
        if not isinstance(value, list):
            raise InputError(f"{file}: {path} must be a list, not {value!r}.")
        return tuple(_value(arguments[0], one, file, f"{path}[{i}]") for i, one in enumerate(value))
    if origin is Mapping:
        if not isinstance(value, dict):
            raise InputError(f"{file}: {path} must be a table, not {value!r}.")
        return {key: _value(arguments[1], one, file, f"{path}.{key}") for key, one in value.items()}
    if origin is typing.Literal:
        if value not in arguments:
            raise InputError(f"{file}: {path} = {value!r}. {suggestion(str(value), arguments)}")
    elif kind is not Any and not _fits(kind, value):
        raise InputError(f"{file}: {path} must be {_WORDS[kind]}, not {value!r}.")
    return float(typing.cast("float", value)) if kind is float else value


def _fits(kind: Any, value: object) -> bool:
    if dataclasses.is_dataclass(kind):
        return isinstance(value, Mapping)
    if typing.get_origin(kind) is Mapping:
        return isinstance(value, dict)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is kind

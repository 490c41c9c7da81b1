"""claims.toml is a language that papers share: a key serves two of them, or the list here says why it stands there."""

from __future__ import annotations

import dataclasses
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

from attentest.papers import PAPERS
from attentest.papers.rules import Rules

#: What every kind of name may say when there is nothing of ours, or what a corpus or model has that no other has.
OF_ONE = {
    "CorpusRule.challenges": "what a paper asks otherwise of some corpora",
    "CorpusRule.reason": "not run",
    "CorpusRule.without": "a model that a corpus cannot have",
    "MeasureRule.missing": "unavailable",
    "MeasureRule.reason": "not run",
    "NameRule.apart": "a checkpoint, whose settings are its own",
    "NameRule.epochs": "a checkpoint's",
    "NameRule.reason": "not run",
}


def inside(kind: Any) -> Any:
    """The kind of a field's values: of a list's or a table's entries, and of what may be missing."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is types.UnionType:
        return next((inside(one) for one in arguments if dataclasses.is_dataclass(inside(one))), kind)
    if origin is tuple:
        return inside(arguments[0])
    return inside(arguments[1]) if origin is Mapping else kind


def keys(kind: Any) -> Iterator[str]:
    hints = typing.get_type_hints(kind)
    for field in dataclasses.fields(kind):
        if field.metadata.get("key", True):
            yield f"{kind.__name__}.{field.name}"
            if dataclasses.is_dataclass(inside(hints[field.name])):
                yield from keys(inside(hints[field.name]))


def used(kind: Any, values: Any) -> Iterator[str]:
    if isinstance(values, list):
        for one in values:
            yield from used(kind, one)
        return
    hints = typing.get_type_hints(kind)
    for key, value in values.items():
        yield f"{kind.__name__}.{key}"
        of = inside(hints[key])
        if dataclasses.is_dataclass(of):
            mapping = typing.get_origin(hints[key]) is Mapping
            for one in value.values() if mapping else [value]:
                yield from used(of, one)


def test_every_key_serves_two_papers_or_says_why_it_is_there() -> None:
    by_key: dict[str, set[str]] = {key: set() for key in keys(Rules)}
    for name, paper in PAPERS.items():
        for key in used(Rules, tomllib.loads(paper.text("claims.toml") or "")):
            by_key[key].add(name)
    alone = {key for key, papers in by_key.items() if len(papers) < 2}
    assert alone <= set(OF_ONE)
    assert len(by_key) <= 66

"""Families of models whose truth is known. Each module here yields its members, and nobody lists the modules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from attentest.calibration.member import Member
from attentest.errors import UnknownName
from attentest.registry import modules_below

__all__ = ["families", "members_of"]


@cache
def families() -> dict[str, list[str]]:
    """The modules that yield members, by the families that these are of."""
    found: dict[str, list[str]] = {}
    for module in modules_below(__name__):
        if hasattr(module, "members"):
            found.setdefault(module.FAMILY, []).append(module.__name__)
    return found


def members_of(chosen: Sequence[str] = (), *, quick: bool) -> Iterator[Member]:
    """The members of these families, or of all; the quick ones are few, and those that are audited within seconds."""
    for name in chosen:
        if name not in families():
            raise UnknownName("family", name, families())
    for module in modules_below(__name__):
        if hasattr(module, "members") and (not chosen or module.FAMILY in chosen):
            yield from module.members(quick=quick)

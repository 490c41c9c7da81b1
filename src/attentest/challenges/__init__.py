"""Challenges: one question each, one folder each. Whatever folder is here is found; nothing is listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attentest.registry import Registry, classes_below

if TYPE_CHECKING:
    from attentest.challenges.challenge import Challenge

__all__ = ["CHALLENGES"]


def _challenges() -> dict[str, type[Challenge]]:
    from attentest.challenges.challenge import Challenge

    return classes_below(__name__, Challenge, called="examine")


CHALLENGES: Registry[Challenge] = Registry("challenge", _challenges)

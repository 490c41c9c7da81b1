"""Challenges: one question each, one folder each. Whatever folder is here is found; nothing is listed.

``examine.py`` puts the question to a model; ``presentation.py`` shows people the answer, and needs no torch. Other
packages add theirs as entry points of the groups ``attentest.challenges`` and ``attentest.presentations``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attentest.registry import Registry, Table, classes_below, modules_below

if TYPE_CHECKING:
    from attentest.challenges.challenge import Challenge
    from attentest.presentation.presentation import Presentation

__all__ = ["CHALLENGES", "PRESENTATIONS"]


def _challenges() -> dict[str, type[Challenge]]:
    from attentest.challenges.challenge import Challenge

    return classes_below(__name__, Challenge, called="examine")


def _presentations() -> dict[str, Presentation]:
    found: list[Presentation] = [module.PRESENTATION for module in modules_below(__name__, called="presentation")]
    return {one.challenge: one for one in sorted(found, key=lambda one: one.place)}


CHALLENGES: Registry[Challenge] = Registry("challenge", _challenges)
PRESENTATIONS: Table[Presentation] = Table("presentation", _presentations)

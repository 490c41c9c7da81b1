"""Challenges: one question each, one folder each. Whatever folder is here is found; nothing is listed.

``examine.py`` puts the question to a model; ``reading.py`` says how people read the answer, and needs no torch. Other
packages add theirs as entry points of the groups ``attentest.challenges`` and ``attentest.readings``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attentest.registry import Registry, Table, classes_below, modules_below

if TYPE_CHECKING:
    from attentest.challenges.challenge import Challenge
    from attentest.readings.reading import Reading

__all__ = ["CHALLENGES", "READINGS"]


def _challenges() -> dict[str, type[Challenge]]:
    from attentest.challenges.challenge import Challenge

    return classes_below(__name__, Challenge, called="examine")


def _readings() -> dict[str, Reading]:
    found: list[Reading] = [module.READING for module in modules_below(__name__, called="reading")]
    return {reading.challenge: reading for reading in sorted(found, key=lambda reading: reading.place)}


CHALLENGES: Registry[Challenge] = Registry("challenge", _challenges)
READINGS: Table[Reading] = Table("reading", _readings)

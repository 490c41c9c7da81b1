"""Features of words and places that compiled transformers begin with."""

from __future__ import annotations

from collections.abc import Mapping
from math import cos, pi, sin

from attentest.calibration.hand_built import votes_of, word_chance
from attentest.data.worlds.composed import KEEPS, TURNS, Negation
from attentest.data.worlds.lookup import KEYS
from attentest.data.worlds.world import FILLERS, World, invented

__all__ = ["PERIODS", "place_features", "word_features", "words_of_world"]

#: Periods of the waves that tell places: no two places within a text are alike in all.
PERIODS = (4, 5, 7, 9, 11)


def words_of_world(world: World) -> tuple[str, ...]:
    """All words that a world may write, in a fixed order."""
    turning = (*TURNS, *KEEPS) if isinstance(world, Negation) else ()
    keys = KEYS if world.task == "pair" else ()
    return tuple(dict.fromkeys([".", *FILLERS, *invented("decoy", 0, 12), *votes_of(world), *turning, *keys]))


def word_features(world: World) -> dict[str, dict[str, float]]:
    """What there is to know of every word: what it says, whether it decides, looks as if it did, or turns others."""
    votes, decoys = votes_of(world), invented("decoy", 0, 12)
    turned = isinstance(world, Negation)
    found: dict[str, dict[str, float]] = {}
    for word in words_of_world(world):
        about = {"chance": word_chance(word)}
        if word in votes:
            number, strength = votes[word]
            about |= {f"says.{number}": strength, "cue": 1.0}
        if word in votes or (turned and word in (*TURNS, *KEEPS)):
            about["decides"] = 1.0
        else:
            about["noise"] = about["chance"]
        if world.task == "pair" and word in KEYS:
            about |= {"key": 1.0, f"key.{KEYS.index(word)}": 1.0}
        for name, among in (("decoy", decoys), ("end", (".",)), ("turns", TURNS if turned else ())):
            if word in among:
                about[name] = 1.0
        found[word] = about
    return found


def place_features(place: int) -> Mapping[str, float]:
    """Where a slot stands: waves, those of the place before it, and whether the first word stands there."""
    found = {"one": 1.0, "first": float(place == 1)}
    for period in PERIODS:
        here, before = 2 * pi * place / period, 2 * pi * (place - 1) / period
        found |= {f"cos.{period}": cos(here), f"sin.{period}": sin(here)}
        found |= {f"before.cos.{period}": cos(before), f"before.sin.{period}": sin(before)}
    return found

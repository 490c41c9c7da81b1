"""Who gets which items, and in what order: by the study's seed and the annotator's name alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from attentest.people.item import Item
from attentest.people.source import chance

__all__ = ["assigned", "portions_of"]


def portions_of(items: Sequence[Item], overlap: int, portions: int) -> dict[str, int]:
    """By item: the portion that it belongs to, or −1 where everybody gets it. Conditions are balanced in each."""
    of_condition: dict[str, list[Item]] = {}
    for item in items:
        if item.hidden.kind == "item":
            of_condition.setdefault(item.hidden.condition, []).append(item)
    rounds = list(zip_longest(*of_condition.values()))
    every = [(number, item) for number, row in enumerate(rounds) for item in row if item is not None]
    found = {item.id: -1 for item in items}
    first = every[overlap][0] if overlap < len(every) else 0
    for number, item in every[overlap:]:
        found[item.id] = (number - first) % portions if portions > 1 else -1
    return found


def assigned(items: Sequence[Item], portions: dict[str, int], portion: int, name: str, seed: int) -> list[Item]:
    """The items of one annotator in their own order; checks are spread evenly, and none comes first."""
    own = [item for item in items if portions[item.id] in (-1, portion)]
    draw = chance(seed, "order", name)
    order = [own[i] for i in draw.permutation(len(own))]
    checks = [item for item in order if item.hidden.kind == "check"]
    rest = [item for item in order if item.hidden.kind != "check"]
    places = [
        1 + int((number + draw.random()) * max(len(rest) - 1, 0) / max(len(checks), 1)) for number in range(len(checks))
    ]
    for shift, (place, check) in enumerate(zip(places, checks, strict=True)):
        rest.insert(place + shift, check)
    return rest

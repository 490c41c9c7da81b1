"""The words of the generated aspects: what a restaurant is judged by, and how each kind of it is praised or blamed.

In a phrase ``[slot]`` is filled by a word that decides a judgement, ``{slot}`` by any other.
"""

from __future__ import annotations

from typing import Final

__all__ = ["ASIDES", "ASPECTS", "JOINS", "JUDGED", "NEGATED", "OPINIONS", "SLOTS", "Aspect"]

#: An aspect's word, its kind, and whether it stands in the plural.
Aspect = tuple[str, str, bool]

ASPECTS: Final[tuple[Aspect, ...]] = (
    ("soup", "food", False),
    ("bread", "food", False),
    ("waiters", "people", True),
    ("cook", "people", False),
    ("terrace", "place", False),
    ("tables", "place", True),
)

#: Adjectives of every kind of aspect, those that praise and those that blame.
OPINIONS: Final[dict[str, tuple[str, str]]] = {
    "food": ("delicious fresh tasty superb", "stale bland inedible awful"),
    "people": ("charming helpful polite superb", "rude careless grumpy awful"),
    "place": ("spotless cosy bright lovely", "dirty gloomy shabby horrid"),
}

#: A judgement said outright; what it says is what the word says.
JUDGED: Final = (
    "the {aspect} {was} {degree} [adjective]",
    "the {aspect} {was} {degree} [adjective]",
    "{we} found the {aspect} {degree} [adjective]",
    "{we} [loved] the {aspect}",
    "the {aspect} [pleased] {us}",
    "as for the {aspect} , {it} {was} {degree} [adjective]",
)
#: The same with a negation, which turns the word round.
NEGATED: Final = (
    "the {aspect} {was} [not] [adjective]",
    "the {aspect} {was} [never] [adjective]",
    "{we} did [not] find the {aspect} [adjective]",
)
#: Verbs that praise and that blame.
SLOTS: Final[dict[str, tuple[str, str]]] = {
    "loved": ("loved enjoyed praised adored", "hated disliked cursed dreaded"),
    "pleased": ("pleased delighted impressed thrilled", "annoyed disappointed bothered appalled"),
}
#: What judges nothing.
ASIDES: Final = (
    "{we} came on a {day}",
    "it was raining that {day}",
    "{we} stayed for {number} hours",
    "my {relative} paid for everything",
    "there were {number} of {us}",
    "{we} had booked in advance",
)
#: Between two judgements.
JOINS: Final = (", but", ", and", ", while", ";", ", although", ".")

"""A small world for stories: people walk between places, and take, carry and lay down objects.

Nobody is anywhere until the story says so, so that every question can be answered from its sentences. Objects lie at
hidden places until somebody takes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple, TypeVar

__all__ = ["OBJECTS", "PEOPLE", "PLACES", "Event", "Question", "Tokens", "questions", "tell"]

T = TypeVar("T")
Tokens = tuple[str, ...]

PEOPLE = ("amara", "boris", "chloe", "dmitri", "elif")
PLACES = ("attic", "bakery", "harbour", "library", "orchard", "stable")
OBJECTS = ("compass", "kettle", "lantern", "violin")

Deed = Literal["move", "take", "drop"]
WORDING: dict[Deed, tuple[str, ...]] = {
    "move": ("walked into the", "hurried to the", "strolled over to the", "turned up in the"),
    "take": ("collected the", "fetched the", "lifted the", "packed the"),
    "drop": ("laid down the", "let go of the", "set aside the", "parted with the"),
}
#: How often somebody takes an object that lies there, and lays down one that they carry.
TAKE, DROP = 0.6, 0.2


class Event(NamedTuple):
    """One sentence: who did what, to which place or object, and its words."""

    deed: Deed
    person: str
    what: str
    tokens: Tokens


@dataclass(frozen=True)
class Question:
    """A question about a story: its words, its answer, and the sentences that give the answer."""

    tokens: Tokens
    answer: str
    facts: frozenset[int]


def tell(random: Random, sentences: int) -> list[Event]:
    """A story of that many sentences."""
    place: dict[str, str] = {}
    carrier: dict[str, str] = {}
    lies = {thing: _pick(random, PLACES) for thing in OBJECTS}
    story: list[Event] = []
    deed: Deed
    while len(story) < sentences:
        person = _pick(random, PEOPLE)
        here = place.get(person)
        carried = [thing for thing in OBJECTS if carrier.get(thing) == person]
        free = [thing for thing in OBJECTS if thing not in carrier and lies[thing] == here]
        if free and random.random() < TAKE:
            deed, what = "take", _pick(random, free)
            carrier[what] = person
        elif carried and random.random() < DROP:
            deed, what = "drop", _pick(random, carried)
            del carrier[what]
            lies[what] = place[person]
        else:
            deed, what = "move", _pick(random, [other for other in PLACES if other != here])
            place[person] = what
        story.append(_said(random, deed, person, what))
    return story


def questions(story: Sequence[Event], task: int) -> list[Question]:
    """Every question of that task which the story answers: with one, two or three supporting facts."""
    if task == 1:
        return [
            Question(_asked(f"which place is {person} in"), story[moves[-1]].what, frozenset(moves[-1:]))
            for person in PEOPLE
            if (moves := _moves(story, person))
        ]
    return list(_present(story) if task == 2 else _past(story))


def _present(story: Sequence[Event]) -> Iterator[Question]:
    """Where is an object: who took it or laid it down last, and where they were or are."""
    for thing in OBJECTS:
        handled = [i for i, event in enumerate(story) if event.what == thing]
        if not handled:
            continue
        last = handled[-1]
        dropped = story[last].deed == "drop"
        move = _moves(story[:last] if dropped else story, story[last].person)[-1]
        yield Question(_asked(f"which place is the {thing} in"), story[move].what, frozenset((last, move)))


def _past(story: Sequence[Event]) -> Iterator[Question]:
    """Where was an object before a place it was carried to once: taken by whom, who came from where to there."""
    for thing in OBJECTS:
        arrivals: dict[str, list[Question]] = {}
        taken: int | None = None
        for i, event in enumerate(story):
            if event.what == thing:
                taken = i if event.deed == "take" else None
            elif taken is not None and event.deed == "move" and event.person == story[taken].person:
                before = _moves(story[:i], event.person)[-1]
                words = _asked(f"which place was the {thing} in before the {event.what}")
                question = Question(words, story[before].what, frozenset((before, taken, i)))
                arrivals.setdefault(event.what, []).append(question)
        yield from (once[0] for once in arrivals.values() if len(once) == 1)


def _moves(story: Sequence[Event], person: str) -> list[int]:
    return [i for i, event in enumerate(story) if event.deed == "move" and event.person == person]


def _said(random: Random, deed: Deed, person: str, what: str) -> Event:
    return Event(deed, person, what, (person, *_pick(random, WORDING[deed]).split(), what, "."))


def _asked(words: str) -> Tokens:
    return (*words.split(), "?")


def _pick(random: Random, options: Sequence[T]) -> T:
    """By Random.random() only, whose stream is the same in every Python."""
    return options[int(random.random() * len(options))]

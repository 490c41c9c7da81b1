"""Generated texts that judge several things, asked about one of them: nothing to download."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar, TypeVar

from attentest.data.corpora.aspect_words import ASIDES, ASPECTS, JOINS, JUDGED, NEGATED, OPINIONS, SLOTS, Aspect
from attentest.data.corpus import Split
from attentest.data.generated import Generated
from attentest.tasks import TaskName

__all__ = ["Aspects"]

T = TypeVar("T")
Marked = list[tuple[str, bool]]

#: How often a text judges one thing alone, so that words can be learnt from it; others judge two to MANY of them.
ALONE, MANY = 0.35, 3
#: How often a judgement has a negation, and how often something else is said first.
TURNED, ASIDE = 0.15, 0.3
#: Words of no consequence.
FREE = {
    "we": ("we", "i"),
    "us": ("us", "me"),
    "degree": ("", "", "very", "really", "quite", "rather"),
    "day": ("monday", "tuesday", "friday", "sunday"),
    "number": ("two", "three", "five"),
    "relative": ("sister", "uncle", "neighbour"),
}


@dataclass(frozen=True)
class Aspects(Generated):
    """Texts with praise and blame for several things; the second text names the one whose judgement is asked for.

    Generated on the spot, so nothing is downloaded. A guest judges one to three things in a restaurant, such as the
    soup and the waiters, and the second text names one of them: is it praised or blamed? Where several are judged,
    some are praised and some blamed, so that neither text tells without the other, and a model whose attention does
    not listen to the query is right in about two thirds of texts. The words that decide for the thing asked about
    are marked.
    """

    name: ClassVar[str] = "aspects"
    summary: ClassVar[str] = "generated texts that judge several things: what do they say of one? No download"
    task: ClassVar[TaskName] = "pair"
    classes: ClassVar[tuple[str, ...]] = ("negative", "positive")
    preparation: ClassVar[str] = "lower case, punctuation as tokens; praise and blame in every text, equal classes"
    most: ClassVar[int] = 20_000

    train: int = 3000
    dev: int = 300
    test: int = 500
    seed: int = 5

    def _split(self, name: str, size: int, stream: int, seen: set[tuple[str, ...]]) -> Split:
        random = Random(3 * self.seed + stream)
        made: list[tuple[Marked, str]] = []
        while len(made) < size:
            text, asked = _one(random, positive=len(made) % 2 == 1)
            key = (*(word for word, _ in text), asked)
            if key not in seen:
                seen.add(key)
                made.append((text, asked))
        return Split.of(
            [f"{self.name}-{self.seed}-{name}-{i}" for i in range(size)],
            [[word for word, _ in text] for text, _ in made],
            [i % 2 for i in range(size)],
            second=[[asked] for _, asked in made],
            rationale=[[marked for _, marked in text] for text, _ in made],
        )


def _one(random: Random, *, positive: bool) -> tuple[Marked, str]:
    """A text with both praise and blame, and one of its aspects that is judged so; its judgement is marked."""
    count = 1 if random.random() < ALONE else 2 + int(random.random() * (MANY - 1))
    aspects = _shuffled(random, ASPECTS)[:count]
    # Praise and blame, however much of each: from the text alone either answer is as likely.
    praised = 1 + int(random.random() * (count - 1))
    judgements = [positive] if count == 1 else _shuffled(random, [i < praised for i in range(count)])
    asked = _pick(random, [i for i, praise in enumerate(judgements) if praise == positive])
    text: Marked = _aside(random, [".", ":"])
    for i, (aspect, praise) in enumerate(zip(aspects, judgements, strict=True)):
        if i:
            text += [(word, False) for word in _pick(random, JOINS).split()]
        text += [(word, marked and i == asked) for word, marked in _judged(random, aspect, praise=praise)]
    text.append((".", False))
    return text, aspects[asked][0]


def _aside(random: Random, ends: Sequence[str]) -> Marked:
    if random.random() >= ASIDE:
        return []
    said = _filled(random, _pick(random, ASIDES), {})
    return [*said, (_pick(random, ends), False)]


def _judged(random: Random, aspect: Aspect, *, praise: bool) -> Marked:
    """One judgement, the words that decide it marked."""
    word, kind, plural = aspect
    turned = random.random() < TURNED
    blaming = int(praise == turned)
    given = {
        slot: _pick(random, sides[blaming].split()) for slot, sides in (("adjective", OPINIONS[kind]), *SLOTS.items())
    }
    agreeing = {"was": "were" if plural else "was", "it": "they" if plural else "she" if kind == "people" else "it"}
    phrase = _pick(random, NEGATED if turned else JUDGED)
    return _filled(random, phrase, {**given, **agreeing, "aspect": word, "not": "not", "never": "never"})


def _filled(random: Random, phrase: str, given: dict[str, str]) -> Marked:
    """The phrase's words; those in square brackets are marked."""
    text: Marked = []
    for part in phrase.split():
        slot = re.fullmatch(r"[\[{](\w+)[\]}]", part)
        words = part if slot is None else given.get(slot[1]) or _pick(random, FREE[slot[1]])
        text += [(word, part.startswith("[")) for word in words.split()]
    return text


def _pick(random: Random, values: Sequence[T]) -> T:
    return values[int(random.random() * len(values))]


def _shuffled(random: Random, values: Sequence[T]) -> list[T]:
    return [value for _, value in sorted(((random.random(), value) for value in values), key=lambda pair: pair[0])]

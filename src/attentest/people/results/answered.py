"""All answers of a study as one table: people by items."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from attentest.people.answers import Answer
from attentest.people.item import Item
from attentest.people.study import PeopleStudy

__all__ = ["Answered", "Whose", "answered"]

#: Whose answers: those of people, wherever they were collected, or those of simulated annotators; never both.
Whose = Literal["people", "simulated"]
KINDS = {"people": ("person", "imported"), "simulated": ("simulated",)}


@dataclass(frozen=True)
class Answered:
    """Answers to the items that count, and apart from them to checks and gold items."""

    study: PeopleStudy
    whose: Whose
    people: tuple[str, ...]
    answers: tuple[Answer, ...]

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """The items that count, in the order of the file."""
        return tuple(item for item in self.study.items.values() if item.hidden.kind == "item")

    @cached_property
    def choices(self) -> np.ndarray:
        """[person, item]: what was chosen, "" where nothing was."""
        return self._matrix({item.id: place for place, item in enumerate(self.items)})

    @cached_property
    def outcomes(self) -> np.ndarray:
        """[person, item]: what was chosen means, "" where nothing was."""
        found = np.full(self.choices.shape, "", dtype=object)
        for person, item in zip(*np.nonzero(self.choices != ""), strict=True):
            found[person, item] = self.study.design.outcome(self.items[item], str(self.choices[person, item]))
        return found

    @cached_property
    def conditions(self) -> np.ndarray:
        """The condition of every item."""
        return np.array([item.hidden.condition for item in self.items], dtype=object)

    @cached_property
    def correct(self) -> np.ndarray:
        """Whether the prediction that was shown is correct, of every item."""
        return np.array([bool(item.hidden.facts.get("correct")) for item in self.items], dtype=bool)

    @property
    def seen(self) -> np.ndarray:
        """[person, item]: whether there is an answer."""
        return np.asarray(self.choices != "")

    def without(self, names: Iterable[str]) -> Answered:
        """The same without some people."""
        gone = set(names)
        kept = tuple(name for name in self.people if name not in gone)
        answers = tuple(answer for answer in self.answers if answer.annotator not in gone)
        return Answered(self.study, self.whose, kept, answers)

    def of_kind(self, kind: str) -> list[tuple[Answer, Item]]:
        """The answers to checks, or to gold items."""
        found = ((answer, self.study.items[answer.item]) for answer in self.answers)
        return [(answer, item) for answer, item in found if item.hidden.kind == kind]

    def _matrix(self, places: dict[str, int]) -> np.ndarray:
        rows = {name: row for row, name in enumerate(self.people)}
        found = np.full((len(self.people), len(places)), "", dtype=object)
        for answer in self.answers:
            if answer.item in places:
                found[rows[answer.annotator], places[answer.item]] = answer.choice
        return found


def answered(study: PeopleStudy, whose: Whose = "people") -> Answered:
    """The answers that count of people, or of simulated annotators; whoever answered nothing is not in it."""
    answers = [answer for answer in study.answers() if answer.kind in KINDS[whose] and answer.item in study.items]
    people = tuple(dict.fromkeys(answer.annotator for answer in answers))
    return Answered(study, whose, people, tuple(answers))

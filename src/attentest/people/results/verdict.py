"""Plausible to people? One line, kept apart from faithfulness: it never changes what an audit answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from attentest.people.results.answered import Whose
from attentest.people.results.shares import Met

__all__ = ["APART", "FEWEST", "Plausible", "plausible"]

#: One person's taste is nobody else's.
FEWEST = 2
APART = (
    "This says whether people find the explanation convincing, not whether it is what the model used: it changes none "
    "of the audit's three answers."
)


@dataclass(frozen=True)
class Plausible:
    """The answer, and what it rests on."""

    answer: Literal["yes", "no", "cannot say"]
    reason: str
    met: tuple[Met, ...]
    simulated: bool

    @property
    def line(self) -> str:
        """The answer in one line."""
        who = "simulated annotators (no person answered)" if self.simulated else "people"
        return f"Plausible to {who}: {self.answer}"


def plausible(met: Sequence[Met], people: int, whose: Whose) -> Plausible:
    """Yes where all that must be seen is, no where one is significantly not so."""
    simulated = whose == "simulated"
    if people < FEWEST:
        said = (
            f"{'Nobody’s' if not people else 'Only one annotator’s'} answers count so far; it takes at least {FEWEST}."
        )
        return Plausible("cannot say", said, tuple(met), simulated)
    answers = [each.answer for each in met]
    if "no" in answers:
        failed = next(each for each in met if each.answer == "no")
        return Plausible("no", f"It is not so that {failed.requirement.words}.", tuple(met), simulated)
    if all(answer == "yes" for answer in answers):
        words = ", ".join(each.requirement.words for each in met)
        return Plausible("yes", f"{words[:1].upper()}{words[1:]}.", tuple(met), simulated)
    open_ = next(each for each in met if each.answer == "cannot say")
    said = f"The interval does not settle whether {open_.requirement.words}."
    return Plausible("cannot say", said, tuple(met), simulated)

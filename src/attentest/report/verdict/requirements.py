"""What is required of a verdict, and whether it is met: for continuous integration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

from attentest.errors import InputError, UnknownName
from attentest.report.verdict.argument import KEYS, Key
from attentest.report.verdict.verdict import Goal, Verdict

__all__ = ["Checked", "Required", "Requirement", "check", "parse", "requirements"]

#: What can be required: an answer at least as good. "no" and "cannot say" meet nothing.
Required = Literal["yes", "with care"]
MEETS: Mapping[Required, tuple[str, ...]] = {"yes": ("yes",), "with care": ("yes", "with care")}


@dataclass(frozen=True)
class Requirement:
    """The least that a use of attention must be answered with."""

    key: Key
    least: Required


@dataclass(frozen=True)
class Checked:
    """A requirement beside the answer that the verdict gives."""

    requirement: Requirement
    goal: Goal

    @property
    def met(self) -> bool:
        """Whether the answer is at least as good as required."""
        return self.goal.answer in MEETS[self.requirement.least]

    @property
    def line(self) -> str:
        """Whether it is met, what is required, the answer and why, in one line."""
        asked, found = self.requirement, f"{self.goal.answer}. {self.goal.goal}: {self.goal.words}"
        return f"{'met' if self.met else 'not met'}: {asked.key} must be {asked.least}, is {found}"

    def to_record(self) -> dict[str, object]:
        """The same as plain values."""
        asked = self.requirement
        return {
            "key": asked.key,
            "required": asked.least,
            "answer": self.goal.answer,
            "met": self.met,
            "goal": self.goal.goal,
            "why": self.goal.words,
        }


def parse(texts: Iterable[str]) -> list[Requirement]:
    """Requirements as they are typed: ``reason=with-care``."""
    pairs = []
    for text in texts:
        key, equals, least = text.partition("=")
        if not equals:
            raise InputError(f"Requirement {text!r} must be KEY=ANSWER, as reason=with-care.")
        pairs.append((key.strip(), least))
    return requirements(pairs)


def requirements(pairs: Iterable[tuple[str, str]]) -> list[Requirement]:
    """Requirements of names and answers: at least one."""
    required = [_requirement(key, least) for key, least in pairs]
    if not required:
        raise InputError(f"Nothing is required. Name one or more of {', '.join(KEYS)}, as reason=with-care.")
    return required


def _requirement(key: str, least: str) -> Requirement:
    if key not in KEYS:
        raise UnknownName("use of attention", key, KEYS)
    said = " ".join(least.replace("-", " ").replace("_", " ").lower().split())
    if said not in get_args(Required):
        raise InputError(f"{key}={least} cannot be required: name the least answer that will do, yes or with-care.")
    return Requirement(key, cast(Required, said))


def check(verdict: Verdict, required: Iterable[Requirement]) -> list[Checked]:
    """Every requirement beside the verdict's answer."""
    goals = {goal.key: goal for goal in verdict.goals}
    return [Checked(requirement, goals[requirement.key]) for requirement in required]

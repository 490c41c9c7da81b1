"""What any method has to beat: chance, the place of an item, and its length."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attentest.sources.case import Case
from attentest.sources.language import Cost
from attentest.sources.methods.method import Method, Scored

__all__ = ["LastSource", "RandomSource", "SharedWords"]


@dataclass(frozen=True)
class RandomSource(Method):
    """Random scores, which depend on the seed and the question alone."""

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "chance"
    reference: ClassVar[str] = ""
    seed: int = 0

    def score(self, case: Case) -> Scored:
        """Drawn for this question."""
        text = f"{self.seed}/{case.question.id}/{case.question.question}"
        digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
        return Scored(np.random.default_rng(int.from_bytes(digest)).random(len(case.items)), Cost())


@dataclass(frozen=True)
class LastSource(Method):
    """The later an item stands, the higher its score."""

    name: ClassVar[str] = "last"
    summary: ClassVar[str] = "the later, the higher"
    reference: ClassVar[str] = ""

    def score(self, case: Case) -> Scored:
        """By place."""
        return Scored(np.arange(len(case.items), dtype=float), Cost())


@dataclass(frozen=True)
class SharedWords(Method):
    """The share of an item's words that the question or the answer uses, too."""

    name: ClassVar[str] = "shared_words"
    summary: ClassVar[str] = "words in common with question and answer: no model is asked"
    reference: ClassVar[str] = ""

    def score(self, case: Case) -> Scored:
        """By words, without their case and the signs round them."""
        asked = _words(f"{case.question.question} {case.answer.text}")
        found = [_words(item.text) for item in case.items]
        return Scored(np.array([len(words & asked) / max(1, len(words)) for words in found]), Cost())


def _words(text: str) -> set[str]:
    return {bare for word in text.lower().split() if (bare := word.strip(".,;:!?\"'()[]"))}

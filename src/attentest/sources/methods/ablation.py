"""What happens without items: one at a time, or many at random with a sparse linear surrogate."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attentest.errors import InputError
from attentest.sources.case import Case
from attentest.sources.language import Cost
from attentest.sources.methods.method import Method, Scored

__all__ = ["ContextCite", "LeaveOneOut", "drawn_subsets", "surrogate"]

#: Items whose subsets are so few that all of them can be put into an order.
FEW = 14


@dataclass(frozen=True)
class LeaveOneOut(Method):
    """By how much the answer's log-probability falls when an item is taken out."""

    name: ClassVar[str] = "leave_one_out"
    summary: ClassVar[str] = "the fall of the answer's log-probability without the item"
    reference: ClassVar[str] = "Li et al. 2016"

    def score(self, case: Case) -> Scored:
        """A pass for each item."""
        kept = ~np.eye(len(case.items), dtype=bool)
        return Scored(case.whole - case.log_probability(kept), case.spent_on(kept))


@dataclass(frozen=True)
class ContextCite(Method):
    """Coefficients of a sparse linear model of the log-probability, fitted on random halves of the items.

    Lasso on standardised columns, the log-probability per token, as the paper's code has it (its target is the logit of
    the answer's probability, which is the log-probability wherever that is small).
    """

    name: ClassVar[str] = "context_cite"
    summary: ClassVar[str] = "a sparse linear surrogate, fitted on random subsets of the items"
    reference: ClassVar[str] = "Cohen-Wang et al. 2024"
    ablations: int = 32
    alpha: float = 0.01
    seed: int = 0

    def __post_init__(self) -> None:
        if self.ablations < 2 or not self.alpha > 0:
            raise InputError(
                f"context_cite: ablations={self.ablations} must be at least 2, alpha={self.alpha} above 0."
            )

    def score(self, case: Case) -> Scored:
        """A pass for every subset."""
        kept = drawn_subsets(case.question.id, len(case.items), self.ablations, self.seed)
        values = case.log_probability(kept)
        tokens = int(case.answer.explained.sum())
        return Scored(surrogate(kept, values / tokens, self.alpha) * tokens, case.spent_on(kept))


def drawn_subsets(name: str, items: int, count: int, seed: int, *, apart: bool = False) -> np.ndarray:
    """Random subsets, each item kept with a chance of one half, [subset, item]; by question and seed alone.

    Of few items all subsets are put into a random order, and no subset is drawn twice: those to be kept ``apart`` come
    from its end, so that nothing is fitted on them as long as both do not ask for more than there are.
    """
    digest = hashlib.blake2b(f"{seed}/{name}".encode(), digest_size=8).digest()
    generator = np.random.default_rng(int.from_bytes(digest))
    if items > FEW:
        first, second = generator.random((2, count, items)) < 0.5
        return np.asarray(second if apart else first)
    order = generator.permutation(2**items)
    codes = (order[::-1] if apart else order)[:count]
    return (codes[:, None] >> np.arange(items) & 1).astype(bool)


def surrogate(kept: np.ndarray, values: np.ndarray, alpha: float) -> np.ndarray:
    """The coefficients of Lasso on standardised columns, in the columns' own units."""
    from sklearn.linear_model import Lasso
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler()
    given = scaler.fit_transform(kept.astype(float))
    fitted = Lasso(alpha=alpha, random_state=0).fit(given, values)
    return np.asarray(fitted.coef_ / scaler.scale_)


@dataclass(frozen=True)
class Exchange(Method):
    """By how much the log-probability falls when a source is exchanged for a text from elsewhere.

    The other text is a source of another question, or, where there is none, the next source of this one: something
    stands in every place, and only as long as the two texts are of one length does the prompt stay as long as it was.
    """

    name: ClassVar[str] = "exchange"
    summary: ClassVar[str] = "the fall of the answer's log-probability when another text stands in a source's place"
    reference: ClassVar[str] = ""

    def score(self, case: Case) -> Scored:
        """A pass for each source."""
        own = case.question.sources
        pool = [text for text in case.others if text not in own] or [*own[1:], own[0]]
        prompts = [case.exchanged({n: pool[n % len(pool)]}).ids for n in range(len(own))]
        found, each = case.of_prompts(prompts)
        return Scored(case.whole - found, Cost(len(own), each.tokens * len(own), each.seconds * len(own)))

    def objection(self, case: Case) -> str | None:
        """Sources are exchanged, not words."""
        return None if len(case.items) == len(case.question.sources) > 1 else "it exchanges whole sources, two at least"

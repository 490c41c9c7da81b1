"""What attention says of an item: summed, per token, its largest weights, times values, or rolled out over layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from attentest.errors import InputError
from attentest.sources.attended import Attended
from attentest.sources.case import Case
from attentest.sources.language import Cost
from attentest.sources.methods.method import Method, Scored

__all__ = ["Attention", "Rollout", "pooled"]

POOLS = ("sum", "mean", "top", "value_weighted")


def pooled(attended: Attended, pool: str) -> np.ndarray:
    """The scores of every layer and head, [layer, head, item]."""
    if pool == "sum":
        return attended.summed
    if pool == "mean":
        return np.asarray(attended.summed / np.maximum(attended.sizes, 1))
    return attended.top if pool == "top" else attended.value_weighted


@dataclass(frozen=True)
class Attention(Method):
    """The attention that the answer's tokens pay an item, averaged over them, over layers and over heads.

    ``pool``: all of an item's weight (``sum``), per token (``mean``), the mean of its five largest weights (``top``,
    AttnTrace), or weights times the lengths of values (``value_weighted``). Layers and heads count from 1; 0 is all.
    """

    name: ClassVar[str] = "attention"
    summary: ClassVar[str] = "what the answer's tokens attend to, summed over an item"
    reference: ClassVar[str] = "Wang et al. 2025 (top); Kobayashi et al. 2020 (value_weighted)"
    looks: ClassVar[bool] = True
    pool: str = "sum"
    layer: int = 0
    head: int = 0

    def __post_init__(self) -> None:
        if self.pool not in POOLS:
            raise InputError(f"attention: pool={self.pool!r} must be one of {', '.join(POOLS)}.")
        if self.layer < 0 or self.head < 0:
            raise InputError(f"attention: layer={self.layer}, head={self.head}: they count from 1, and 0 is all.")

    def score(self, case: Case) -> Scored:
        """Read from the prompt's own pass."""
        every = pooled(case.attended, self.pool)
        for what, chosen, there in (("layer", self.layer, every.shape[0]), ("head", self.head, every.shape[1])):
            if chosen > there:
                raise InputError(f"attention: {what}={chosen}, and the model has {there}. Choose one of 1–{there}.")
        layers = every if self.layer == 0 else every[self.layer - 1 : self.layer]
        heads = layers if self.head == 0 else layers[:, self.head - 1 : self.head]
        return Scored(heads.mean((0, 1)), Cost(1, len(case.prompt.ids), case.attended.seconds))


@dataclass(frozen=True)
class Rollout(Method):
    """Attention multiplied over layers, half of every step kept for the position itself; heads are averaged."""

    name: ClassVar[str] = "rollout"
    summary: ClassVar[str] = "attention mixed over all layers, and what lies on an item in the end"
    reference: ClassVar[str] = "Abnar & Zuidema 2020"
    looks: ClassVar[bool] = True

    def score(self, case: Case) -> Scored:
        """Carried along in the prompt's own pass."""
        found = case.attended.rollout
        if found is None:
            raise InputError(
                "rollout: too many items in too long a text to be carried along. Explain sources, not words."
            )
        return Scored(found, Cost(1, len(case.prompt.ids), case.attended.seconds))

    def objection(self, case: Case) -> str | None:
        """Needs memory for every item at every position of every layer."""
        return "too many items in too long a text" if case.attended.rollout is None else None

"""Diversity: the states of a text point in different directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch
from attentest.measures.conicity import conicity
from attentest.models.network import Network
from attentest.models.subject import Reading
from attentest.parameters import POSITIVE
from attentest.training.terms.term import OfReading

__all__ = ["Diversity"]


@dataclass(frozen=True)
class Diversity(OfReading):
    """Keeps the states of a text from pointing all one way.

    Where states are alike, the context is much the same however attention weighs them. The conicity of every text is
    added to its cross-entropy: the mean over its real tokens of the cosine between a state and the mean state.
    """

    name: ClassVar[str] = "diversity"
    reference: ClassVar[str] = "Mohankumar et al. 2020"
    weight: Annotated[float, "λ: what a text's conicity counts beside its cross-entropy.", POSITIVE] = 0.5

    def __call__(self, model: Network, reading: Reading, batch: Batch, chance: torch.Generator) -> Float[Tensor, ""]:
        """λ · Σ conicity."""
        return self.weight * conicity(reading.states, batch.mask).sum()

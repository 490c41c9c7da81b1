"""Attention itself, read as a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Explainer
from attentest.models.subject import Reading, Subject

__all__ = ["AttentionWeights"]


@dataclass(frozen=True)
class AttentionWeights(Explainer):
    """α_t."""

    name: ClassVar[str] = "attention"
    summary: ClassVar[str] = "the attention weight α_t"
    reference: ClassVar[str] = "Bahdanau et al. 2015"
    cost: ClassVar[str] = "one forward pass"

    def scores(self, subject: Subject, batch: Batch, reading: Reading) -> Float[Tensor, "batch token"]:
        """The weights as they were read."""
        return reading.weights

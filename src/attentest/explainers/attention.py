"""Attention itself, read as a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.models.subject import Reading, Subject

__all__ = ["AttentionWeights"]


@dataclass(frozen=True)
class AttentionWeights(Explainer):
    """α_t."""

    name: ClassVar[str] = "attention"
    summary: ClassVar[str] = "the attention weight α_t"
    reference: ClassVar[str] = "Bahdanau et al. 2015"
    cost: ClassVar[str] = "one forward pass"

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """The weights as they were read."""
        return Attribution(reading.weights)

"""Attention itself, read as a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.measures.chance import permutations
from attentest.models.subject import Reading, Subject

__all__ = ["AttentionWeights"]


@dataclass(frozen=True)
class AttentionWeights(Explainer):
    """α_t, or the same weights on other tokens.

    What all the others are compared with.
    """

    name: ClassVar[str] = "attention"
    summary: ClassVar[str] = "the attention weight α_t"
    reference: ClassVar[str] = "Bahdanau et al. 2015"
    erases: ClassVar[str] = "weights"
    cost: ClassVar[str] = "one forward pass"
    shuffled: Annotated[
        bool,
        "Permute the weights over the text's tokens: as peaked as attention, and blind to what the tokens say. What "
        "it reaches in `rationale` is chance for weights of this shape.",
    ] = False

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """The weights as they were read, or one permutation of them that depends on the instance alone."""
        if not self.shuffled:
            return Attribution(reading.weights)
        order = permutations(batch.keys, 1, reading.mask, 0, "attention")[:, 0]
        return Attribution(reading.weights.gather(-1, order))

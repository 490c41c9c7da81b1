"""Embedding norm: how long a token's embedding is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.models.subject import Reading, Subject


@dataclass(frozen=True)
class EmbeddingNorm(Explainer):
    """‖e_t‖.

    It knows nothing of the prediction.
    """

    name: ClassVar[str] = "embedding_norm"
    summary: ClassVar[str] = "norm of the embedding"
    reference: ClassVar[str] = "—"
    cost: ClassVar[str] = "one forward pass"
    order: Annotated[int, "Of the norm: 2 is Euclid's."] = 2

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """The norm at every real token, zero elsewhere."""
        return Attribution(reading.embeddings.norm(p=self.order, dim=-1) * batch.mask)

"""Tying: every state stays close to the embedding of its word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch
from attentest.models.network import Network
from attentest.models.subject import Reading
from attentest.parameters import POSITIVE
from attentest.training.terms.term import OfReading, sized_otherwise

__all__ = ["Tying"]


@dataclass(frozen=True)
class Tying(OfReading):
    """Keeps every state close to the embedding of its word.

    The distance ‖h − e‖² of state and embedding, averaged over all real tokens of the batch (eq. 4). States must have
    as many numbers as embeddings. It pulls on both, unless the embeddings are frozen (`--frozen-embeddings`).

    Embeddings that begin from N(0, 1) are as far from any state as they have numbers, and the weights of the paper then
    leave little of the task: begin from pretrained vectors (`--vectors`), or take a weight of about .01.
    """

    name: ClassVar[str] = "tying"
    reference: ClassVar[str] = "Tutek & Šnajder 2020"
    weight: Annotated[float, "δ: what it counts beside the mean cross-entropy.", POSITIVE] = 10.0
    squared: Annotated[bool, "Whether the distance is squared, as in the paper."] = True

    def objection(self, network: Network) -> str | None:
        """States and embeddings must have the same size."""
        return sized_otherwise(network)

    def __call__(self, model: Network, reading: Reading, batch: Batch, chance: torch.Generator) -> Float[Tensor, ""]:
        """δ · texts · mean ‖h − e‖²."""
        apart = torch.where(batch.mask[..., None], reading.states - reading.embeddings, 0.0)
        each = apart.square().sum(-1) if self.squared else torch.linalg.vector_norm(apart, dim=-1)
        return self.weight * len(batch) * each.sum() / batch.mask.sum().clamp(min=1)

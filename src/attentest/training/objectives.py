"""Objectives: what training minimises, as values the one loop takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch
from attentest.models.subject import Reading

__all__ = ["CrossEntropy", "Objective", "class_balance"]


class Objective(Protocol):
    """A reading, with its graph, to a loss."""

    def __call__(self, reading: Reading, batch: Batch) -> Float[Tensor, ""]:
        """The loss of the batch, summed over instances."""


@dataclass(frozen=True)
class CrossEntropy:
    """Cross-entropy summed over the batch, classes weighted (for two classes: Jain & Wallace's BCE)."""

    class_weights: Float[Tensor, " class"] | None = None
    #: The share of every answer's probability that is spread over all classes.
    smoothing: float = 0.0

    def __call__(self, reading: Reading, batch: Batch) -> Float[Tensor, ""]:
        """−Σ w_y log ŷ_y."""
        weights = None if self.class_weights is None else self.class_weights.to(reading.logits)
        return torch.nn.functional.cross_entropy(
            reading.logits, batch.labels, weights, reduction="sum", label_smoothing=self.smoothing
        )


def class_balance(labels: Tensor, classes: int) -> Float[Tensor, " class"]:
    """Weights n/(C·n_c), so that every class counts the same."""
    counts = torch.bincount(labels, minlength=classes).clamp(min=1)
    return len(labels) / (classes * counts.float())

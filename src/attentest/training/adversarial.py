"""Imitation: a model is trained to predict as another one does while it attends elsewhere (Wiegreffe & Pinter 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.data.batches import Batch, Encoded
from attentest.errors import InputError
from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.measures.packing import ordinals
from attentest.models.subject import Reading, Subject
from attentest.training.loop import readings

__all__ = ["DIVERGENCES", "Imitation", "Recorded", "floored_kl"]

#: A weight below the smallest normal number of single precision counts as this number, so that logarithms are finite.
SMALLEST = torch.finfo(torch.float32).tiny


def floored_kl(p: Float[Tensor, "*batch token"], q: Float[Tensor, "*batch token"]) -> Float[Tensor, "*batch"]:
    """KL(p ‖ q) in nats with its gradient finite everywhere: logarithms are those of max(·, SMALLEST)."""
    p, q = p.double(), q.double()
    return (p * (p.clamp(min=SMALLEST).log() - q.clamp(min=SMALLEST).log())).sum(-1)


#: How far one attention is from another: of the trained model's weights from the base's.
DIVERGENCES = {"kl": floored_kl, "jsd": jensen_shannon}


@dataclass(frozen=True)
class Recorded:
    """What a subject says of every text of a split, read once: it never changes while others are trained against it."""

    probabilities: Float[Tensor, "text class"]
    #: All texts' weights one after the other, and where those of each row begin.
    flat: Float[Tensor, " item"]
    begins: Int[Tensor, " text"]

    @classmethod
    @torch.no_grad()
    def of(cls, subject: Subject, encoded: Encoded) -> Recorded:
        """Read the whole split."""
        rows, chances, weights, counts = [], [], [], []
        for batch, reading in readings(subject, encoded):
            rows.append(batch.rows)
            chances.append(reading.logits.double().softmax(-1))
            weights.append(reading.weights[reading.mask])
            counts.append(reading.mask.sum(-1))
        order = torch.cat(rows).argsort()
        ends = torch.cat(counts).cumsum(0)
        return cls(torch.cat(chances)[order], torch.cat(weights), (ends - torch.cat(counts))[order])

    def __len__(self) -> int:
        return len(self.probabilities)

    def weights(self, rows: Int[Tensor, " batch"], mask: Bool[Tensor, "batch token"]) -> Float[Tensor, "batch token"]:
        """These rows' weights at the real tokens, zero elsewhere."""
        place = self.begins[rows, None] + ordinals(mask)
        return torch.where(mask, self.flat[place.clamp(max=len(self.flat) - 1)], 0.0)


@dataclass(frozen=True)
class Imitation:
    """TVD(ŷ', ŷ) − λ·divergence(α', α) of a model's predictions ŷ' and weights α' from the base's, ŷ and α.

    ``kl`` is KL(α' ‖ α), as Wiegreffe & Pinter have it, ``jsd`` is in nats, as Tutek & Šnajder have it.
    """

    base: Recorded
    #: λ.
    weight: float
    divergence: str = "kl"
    #: The released code has half the TVD.
    halved: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.weight < math.inf:
            raise InputError(f"The adversary's weight λ={self.weight} must be a number of at least zero.")
        if self.divergence not in DIVERGENCES:
            raise InputError(f"divergence={self.divergence!r} must be one of {', '.join(DIVERGENCES)}.")

    def each(self, reading: Reading, batch: Batch) -> Float[Tensor, " batch"]:
        """The loss of every text."""
        change = total_variation(reading.logits.double().softmax(-1), self.base.probabilities[batch.rows])
        change = change / 2 if self.halved else change
        if not self.weight:
            return change
        apart = DIVERGENCES[self.divergence](reading.weights, self.base.weights(batch.rows, reading.mask))
        return change - self.weight * apart

    def __call__(self, reading: Reading, batch: Batch) -> Float[Tensor, ""]:
        """The loss of the batch, summed over its texts."""
        return self.each(reading, batch).sum()

    @torch.no_grad()
    def score(self, model: Subject, encoded: Encoded) -> float:
        """What chooses the epoch: the mean loss over the split the base was recorded on, higher is better."""
        if len(encoded) != len(self.base):
            raise InputError(f"The base was recorded on {len(self.base)} texts, not on these {len(encoded)}.")
        total = torch.zeros((), dtype=torch.float64, device=model.device)
        for batch, reading in readings(model, encoded):
            total += self.each(reading, batch).sum()
        return -float(total) / len(encoded)

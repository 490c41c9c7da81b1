"""What challenges that replace all weights share: how far the prediction moves and where it goes, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.challenges.challenge import Examination
from attentest.measures.divergence import total_variation

__all__ = ["Reread", "reread"]

#: Weights, or logits, that one rereading may hold.
CELLS = 8_000_000


@dataclass(frozen=True)
class Reread:
    """The prediction under other weights, beside that under the model's own."""

    #: Total variation distance from the prediction under the own weights.
    change: Float[Tensor, "batch alternative"]
    #: The predicted class.
    decided: Int[Tensor, "batch alternative"]


def reread(examination: Examination, weights: Float[Tensor, "batch alternative token"]) -> Reread:
    """The prediction under every alternative, as many of them at a time as there is room for."""
    own = examination.probabilities[:, None]
    rows, alternatives, width = weights.shape
    size = max(1, CELLS // max(1, rows * max(width, own.shape[-1])))
    change = own.new_empty(rows, alternatives)
    decided = torch.empty(rows, alternatives, dtype=torch.long, device=own.device)
    for start in range(0, alternatives, size):
        part = slice(start, start + size)
        logits = examination.reading.reread(weights[:, part]).double()
        change[:, part] = total_variation(logits.softmax(-1), own)
        decided[:, part] = logits.argmax(-1)
    return Reread(change, decided)

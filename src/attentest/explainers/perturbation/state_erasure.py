"""State erasure: how the prediction changes when a state's weight is zeroed and the rest renormalised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.measures.divergence import total_variation
from attentest.models.subject import Reading, Subject

__all__ = ["StateErasure", "erasure_effect"]


@dataclass(frozen=True)
class StateErasure(Explainer):
    r"""TVD(ŷ, ŷ with α_t = 0 and the others renormalised), encodings held fixed.

    The encodings stay as they are; state *t* gets no weight and the other weights are scaled up to sum to one. This
    asks about the *state*, and says what it does *as weighted*: the effect has $\alpha_t$ as a factor, so that
    agreement with attention is no praise of attention.

    Where no state knows of other tokens (the average encoder), it equals leave-one-out.
    """

    name: ClassVar[str] = "state_erasure"
    summary: ClassVar[str] = "change of the prediction when the state's weight is zeroed, the rest renormalised"
    reference: ClassVar[str] = "Serrano & Smith 2019, section 3"
    erases: ClassVar[str] = "weights"
    cost: ClassVar[str] = "one forward pass and T rereadings"

    @torch.no_grad()
    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Under the own weights."""
        weights = reading.weights.double()
        return Attribution(erasure_effect(reading, weights / weights.sum(-1, keepdim=True), reading.mask))


def erasure_effect(
    reading: Reading, weights: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]
) -> Float[Tensor, "batch token"]:
    """TVD between rereading these weights and rereading them without state t; T alternatives, long texts in parts.

    Where all weight lies on state t, none is left, and an affine head is taken to be undecided between the classes.
    """
    width = weights.shape[1]
    # Reread, not read: rounding between the two would drown the effect of states with little weight.
    whole = reading.reread(weights[:, None]).double().softmax(-1)
    parts = []
    size = max(1, 2_000_000 // weights.numel())
    for start in range(0, width, size):
        erased = torch.arange(start, min(start + size, width), device=weights.device)
        others = weights[:, None, :].repeat(1, len(erased), 1)
        others[:, torch.arange(len(erased)), erased] = 0.0
        left = others.sum(-1, keepdim=True)
        others = torch.where(left > 0, others / left, 0.0)
        parts.append(total_variation(reading.reread(others).double().softmax(-1), whole))
    return torch.where(mask, torch.cat(parts, dim=1), 0.0)

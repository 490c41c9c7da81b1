"""State evidence: how much a state says by itself, whatever weight attention gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Explainer
from attentest.explainers.state_erasure import erasure_effect
from attentest.models.subject import Reading, Subject

__all__ = ["StateEvidence"]


@dataclass(frozen=True)
class StateEvidence(Explainer):
    """TVD between the predictions of an even average of all states, with and without state t.

    State erasure has α_t as a factor: weights compared with it are compared with themselves, and even random
    weights that are peaked would agree with it. Here no weight enters, so agreement with attention means that
    attention looks where there is something to see.
    """

    name: ClassVar[str] = "state_evidence"
    summary: ClassVar[str] = "change of the prediction of an even average of states when the state is left out"
    reference: ClassVar[str] = "after Serrano & Smith 2019, with weights taken out"
    cost: ClassVar[str] = "one forward pass and T rereadings"

    @torch.no_grad()
    def scores(self, subject: Subject, batch: Batch, reading: Reading) -> Float[Tensor, "batch token"]:
        """The erasure effect under uniform weights."""
        lengths = batch.mask.sum(-1, keepdim=True).clamp(min=1)
        return erasure_effect(reading, batch.mask.double() / lengths, batch.mask)

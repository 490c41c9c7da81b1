"""State evidence: how much a state says by itself, whatever weight attention gives it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.perturbation.state_erasure import erasure_effect
from attentest.models.subject import Reading, Subject

__all__ = ["StateEvidence", "evidence"]


@dataclass(frozen=True)
class StateEvidence(Explainer):
    """TVD between the predictions of an even average of all states, with and without state t.

    The same with all weights equal: what state *t* says by itself, whatever weight it gets. No weight enters; but a
    model may give any value to a state that it has learnt to ignore.
    [More](../../explanation/states-and-tokens.md).

    Peaked random weights do not agree with it, as they do with state erasure.
    """

    name: ClassVar[str] = "state_evidence"
    summary: ClassVar[str] = "change of the prediction from a uniform average of states when the state is left out"
    reference: ClassVar[str] = "after Serrano & Smith 2019, with weights taken out"
    erases: ClassVar[str] = "weights"
    cost: ClassVar[str] = "one forward pass and T rereadings"

    @torch.no_grad()
    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """As it was read."""
        return Attribution(evidence(reading))


def evidence(reading: Reading) -> Float[Tensor, "batch token"]:
    """The erasure effect under uniform weights."""
    mask = reading.mask
    lengths = mask.sum(-1, keepdim=True).clamp(min=1)
    return erasure_effect(reading, mask.double() / lengths, mask)

"""Attention × value norm: how long the vector is that a token adds to the context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.models.subject import Reading, Subject

__all__ = ["AttentionXValueNorm", "lengths"]


@dataclass(frozen=True)
class AttentionXValueNorm(Explainer):
    """α_t · ‖h_t‖, the length of token t's share in Σ α_t h_t; the same for every class.

    A large weight on a short vector adds little to the context: this is the length of what token *t* adds. It knows
    no class, and a long vector may well be one that the head does not look at.
    """

    name: ClassVar[str] = "attention_x_value_norm"
    summary: ClassVar[str] = "the attention weight times the norm of what it weighs, α_t · ‖h_t‖"
    reference: ClassVar[str] = "Kobayashi et al. 2020"
    erases: ClassVar[str] = "weights"
    cost: ClassVar[str] = "one forward pass"

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """From weights and states as they were read."""
        return Attribution(lengths(reading).detach())


def lengths(reading: Reading) -> Float[Tensor, "batch token"]:
    """How long each weighed state is."""
    norms: Tensor = reading.states.norm(dim=-1)
    return reading.weights * norms * reading.mask

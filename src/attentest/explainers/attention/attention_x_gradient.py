"""Attention × gradient: what a weight does to the output, to first order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer, margin
from attentest.explainers.gradient.slopes import target_of
from attentest.models.subject import Reading, Subject

__all__ = ["AttentionXGradient", "times_slope"]


@dataclass(frozen=True)
class AttentionXGradient(Explainer):
    r"""α_t · ∂ŷ/∂α_t, states held fixed; with an affine head one product with the per-token logits.

    How the output would change with the weight of token *t*, times that weight. The states are held fixed, so
    nothing is encoded again; with an affine head it is $\alpha_t$ times what the state says for the class. A
    positive score means that more weight here would speak for the class.
    """

    name: ClassVar[str] = "attention_x_gradient"
    summary: ClassVar[str] = "the attention weight times the gradient at it, α_t · ∂ŷ/∂α_t"
    reference: ClassVar[str] = "Serrano & Smith 2019, section 5"
    erases: ClassVar[str] = "weights"
    cost: ClassVar[str] = "one forward pass and one rereading"
    signed: ClassVar[bool] = True

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Through the rereading, so nothing is encoded again."""
        wanted = target_of(reading, target)
        return Attribution(times_slope(reading, reading.weights.detach().requires_grad_(), wanted).detach())


def times_slope(
    reading: Reading, weights: Float[Tensor, "batch token"], target: Int[Tensor, " batch"], *, again: bool = False
) -> Float[Tensor, "batch token"]:
    """The weights, which ask for gradients, times the slope of the margin at them; ``again``: it has slopes too."""
    with torch.enable_grad():
        logits = reading.reread(weights[:, None])[:, 0]
        (slope,) = torch.autograd.grad(margin(logits, target).sum(), weights, create_graph=again)
        return weights * slope * reading.mask

"""Attention × gradient: what a weight does to the output, to first order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer, margin
from attentest.explainers.gradient.slopes import target_of
from attentest.models.subject import Reading, Subject

__all__ = ["AttentionXGradient"]


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
        with torch.enable_grad():
            weights = reading.weights.detach().requires_grad_()
            logits = reading.reread(weights[:, None])[:, 0]
            (slope,) = torch.autograd.grad(margin(logits, target_of(reading, target)).sum(), weights)
        return Attribution((weights * slope).detach() * reading.mask)

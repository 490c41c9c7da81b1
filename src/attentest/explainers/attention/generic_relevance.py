"""Generic relevance: attention, where it raises the class, carried through the layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.attention.of_transformer import OfTransformer, of_words, see_every
from attentest.explainers.explainer import Attribution, margin
from attentest.explainers.gradient.slopes import differentiable
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.pretrained import Pretrained

__all__ = ["GenericRelevance"]


@dataclass(frozen=True)
class GenericRelevance(OfTransformer):
    """R ← R + Ē_h[(∂ŷ/∂A ⊙ A)⁺] R, from R = I through the layers; the output's row less its own place.

    For transformers: in every layer attention times the gradient at it, where positive, averaged over heads and
    carried through the layers by the rule of Chefer et al. (2021) for self-attention. It depends on the class,
    unlike rollout. The gradient is that of the class's log-odds, as everywhere here; Chefer et al. take that of its
    logit.
    """

    name: ClassVar[str] = "generic_relevance"
    summary: ClassVar[str] = "attention times its gradient, where positive, carried through the layers"
    reference: ClassVar[str] = "Chefer et al. 2021, the rule for self-attention, of the log-odds"
    cost: ClassVar[str] = "one forward and one backward pass"

    def explain_some(
        self, model: Pretrained, batch: Batch, layout: Layout, target: Int[Tensor, " batch"]
    ) -> Attribution:
        """Every layer's gradient in one backward pass."""
        with differentiable(model):
            kept: list[Tensor] = []
            leaf = model.embed(batch).detach().requires_grad_()
            given = model.assembled(leaf, batch, layout)
            logits = see_every(model, layout, lambda place, weights: kept.append(weights), given)
            slopes = torch.autograd.grad(margin(logits, target).sum(), kept)
        own = torch.eye(layout.mask.shape[1], device=layout.mask.device, dtype=kept[0].dtype)
        relevance = own.expand(len(batch), -1, -1)
        for weights, slope in zip(kept, slopes, strict=True):
            relevance = relevance + (weights * slope).detach().clamp(min=0).mean(1) @ relevance
        return of_words(model, layout, relevance - own)

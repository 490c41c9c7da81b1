"""Generic relevance: attention, where it raises the class, carried through the layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.attention.through_layers import by_rows, layered, of_words, see_every
from attentest.explainers.explainer import Attribution, Explainer, margin
from attentest.explainers.gradient.slopes import differentiable, target_of
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.subject import Reading, Subject

__all__ = ["GenericRelevance"]


@dataclass(frozen=True)
class GenericRelevance(Explainer):
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
    needs: ClassVar[tuple[type, ...]] = (Pretrained,)

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Every layer's gradient in one backward pass."""
        model, wanted = layered(subject, self.name), target_of(reading, target)

        def work(some: Batch, layout: Layout, rows: slice) -> Attribution:
            with differentiable(model):
                kept: list[Tensor] = []
                leaf = model.embed(some).detach().requires_grad_()
                given = model.assembled(leaf, some, layout)
                logits = see_every(model, layout, lambda place, weights: kept.append(weights), given)
                slopes = torch.autograd.grad(margin(logits, wanted[rows]).sum(), kept)
            size = layout.mask.shape[1]
            relevance = torch.eye(size, device=layout.mask.device, dtype=kept[0].dtype).expand(len(some), -1, -1)
            for weights, slope in zip(kept, slopes, strict=True):
                relevance = relevance + (weights * slope).detach().clamp(min=0).mean(1) @ relevance
            own = torch.eye(size, device=relevance.device, dtype=relevance.dtype)
            return of_words(model, layout, relevance - own)

        return by_rows(model, batch, work)

"""Value-weighted norm: how long the vector is that a word adds to the attention's output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.attention.of_transformer import OfTransformer, row_of
from attentest.explainers.explainer import Attribution
from attentest.models.huggingface.attending import Pass
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.pretrained import Pretrained

__all__ = ["ValueWeightedNorm"]


@dataclass(frozen=True)
class ValueWeightedNorm(OfTransformer):
    """‖Σ_h α_h,t W_O v_h,t‖ at the site: weights, values and the output's projection together, heads added up first.

    For transformers: the length of the vector that a word adds to the output of the attention that is examined,
    after values and projection. A word with a large weight and a short value adds little; special tokens often are
    of that kind.
    """

    name: ClassVar[str] = "value_weighted_norm"
    summary: ClassVar[str] = "norm of what the word adds to the attention's output, ‖Σ_h α_h W_O v_h‖"
    reference: ClassVar[str] = "Kobayashi et al. 2020"
    cost: ClassVar[str] = "one forward pass"
    one_stack: ClassVar[bool] = False

    def explain_some(
        self, model: Pretrained, batch: Batch, layout: Layout, target: Int[Tensor, " batch"]
    ) -> Attribution:
        """The site's attention, its values and its projection."""
        return Attribution(_norms(model, layout))


def _norms(subject: Pretrained, layout: Layout) -> Tensor:
    place = subject.places.places[subject.site.place]
    added: list[Tensor] = []

    def see(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        heads = [row_of(subject.site, layout, weights[:, head]) for head in range(weights.shape[1])]
        chosen = subject.site.heads(weights.shape[1]).to(weights.device)
        rows = torch.stack(heads, dim=1) * chosen[:, None]
        added.append(layout.pooled((values * rows[..., None]).transpose(-1, -2)))
        return weights, values

    subject.passed(Pass(edits={subject.site.place: see}), layout)
    parts = added[0].permute(0, 3, 1, 2).flatten(2).contiguous()
    if place.projection:
        project = subject.model.get_submodule(place.projection)
        parts = project(parts) - project(parts.new_zeros(1, 1, parts.shape[-1]))
    norms: Tensor = parts.norm(dim=-1)
    return norms

"""Attention rollout: attention multiplied through the layers, the residual stream counted as attention to itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.attention.of_transformer import OfTransformer, mixed_with_itself, of_words, see_every
from attentest.explainers.explainer import Attribution
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.pretrained import Pretrained

__all__ = ["Rollout"]


@dataclass(frozen=True)
class Rollout(OfTransformer):
    """The output's row of Π (½A_l + ½I), heads averaged.

    For transformers: attention multiplied through the layers, as if a state were nothing but a mixture of states
    below. Half of every layer is the residual stream, which passes a state on as it is. Values, heads' projections
    and everything between the attentions are left out.
    """

    name: ClassVar[str] = "rollout"
    summary: ClassVar[str] = "attention multiplied through the layers, half of each being the residual stream"
    reference: ClassVar[str] = "Abnar & Zuidema 2020"
    cost: ClassVar[str] = "one forward pass and a product of T×T matrices a layer"

    def explain_some(
        self, model: Pretrained, batch: Batch, layout: Layout, target: Int[Tensor, " batch"]
    ) -> Attribution:
        """Multiplied as the layers come, so that one matrix a text is kept."""
        rolled: list[Tensor] = []

        def see(place: int, weights: Tensor) -> None:
            mixed = mixed_with_itself(weights)
            rolled[:] = [mixed if not rolled else mixed @ rolled[0]]

        see_every(model, layout, see)
        return of_words(model, layout, rolled[0])

"""Mean attention: the output's row averaged over all heads of all layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.attention.of_transformer import OfTransformer, of_words, see_every
from attentest.explainers.explainer import Attribution
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.pretrained import Pretrained

__all__ = ["AttentionMean"]


@dataclass(frozen=True)
class AttentionMean(OfTransformer):
    """Mean over layers and heads of what the output's row gives a word; special tokens have no score.

    For transformers: what the output's row ([CLS], or the last token's) gives a word, averaged over all heads of
    all layers. Pieces of a word are added up; special tokens get no score, and `on_no_word` says how much of the
    attention lies on them (`on_other_text`: on a prompt and a second text).
    """

    name: ClassVar[str] = "attention_mean"
    summary: ClassVar[str] = "attention of the output's row, mean over all layers and heads"
    reference: ClassVar[str] = "Vaswani et al. 2017; as commonly shown"
    cost: ClassVar[str] = "one forward pass"

    def explain_some(
        self, model: Pretrained, batch: Batch, layout: Layout, target: Int[Tensor, " batch"]
    ) -> Attribution:
        """Added up layer by layer."""
        total: list[Tensor] = []
        see_every(model, layout, lambda place, weights: total.append(weights.mean(1)))
        return of_words(model, layout, torch.stack(total).mean(0))

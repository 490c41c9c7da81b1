"""Whole attentions replaced: weights shuffled, made even, or drawn at random, in every head and row."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.models.huggingface.attending import Edit
from attentest.models.replaced import Replacement

__all__ = ["replacing"]


def replacing(replacement: Replacement, place: int, keys: Int[Tensor, " batch"]) -> Edit:
    """An edit that replaces one attention; what is drawn depends on seed, text, head, row and slot alone."""

    def edit(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        seen = allowed.expand(len(weights), weights.shape[2], -1)
        heads = [replacement.drawn(weights[:, i], seen, keys, f"{place}/{i}") for i in range(weights.shape[1])]
        return torch.stack(heads, dim=1), values

    return edit

"""Whole attentions replaced: weights shuffled, made even, or drawn at random, in every head and row."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.errors import InputError
from attentest.measures.chance import uniforms
from attentest.models.pretrained.attending import Edit

__all__ = ["REPLACEMENTS", "replacing"]

#: What may take the place of weights, among the keys that a query may see.
REPLACEMENTS = ("permutation", "uniform", "random")


def replacing(how: str, place: int, keys: Int[Tensor, " batch"], seed: int, stream: str) -> Edit:
    """An edit that replaces one attention; what is drawn depends on seed, text, head, row and slot alone."""
    if how not in REPLACEMENTS:
        raise InputError(f"replacement={how!r} must be one of {', '.join(REPLACEMENTS)}.")

    def edit(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        seen = allowed.expand(len(weights), weights.shape[2], -1)
        if how == "uniform":
            even = seen.to(weights.dtype) / seen.sum(-1, keepdim=True).clamp(min=1)
            return even[:, None].expand_as(weights), values
        heads = [
            _drawn(how, weights[:, head], seen, keys, seed, f"{stream}/{place}/{head}")
            for head in range(weights.shape[1])
        ]
        return torch.stack(heads, dim=1), values

    return edit


def _drawn(how: str, weights: Tensor, seen: Tensor, keys: Tensor, seed: int, stream: str) -> Tensor:
    """One head's weights [batch, query, key], shuffled or drawn anew within what each query may see."""
    chance = uniforms(keys, weights.shape[1], weights.shape[2], seed, stream)
    if how == "random":
        drawn = (1.0 - chance) * seen
        return (drawn / drawn.sum(-1, keepdim=True).clamp(min=1e-300)).to(weights.dtype)
    order = chance.masked_fill(~seen, 2.0).argsort(dim=-1, stable=True)
    source = order.gather(-1, (seen.cumsum(-1) - 1).clamp(min=0))
    here = torch.arange(weights.shape[-1], device=weights.device)
    return weights.gather(-1, source.where(seen, here))

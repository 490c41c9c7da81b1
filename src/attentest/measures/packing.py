"""Real tokens, wherever a mask puts them: counted, moved to the left, grouped by length."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

__all__ = ["by_length", "ordinals", "packed", "positions"]


def ordinals(mask: Bool[Tensor, "batch token"]) -> Int[Tensor, "batch token"]:
    """How many real tokens stand before each position."""
    return mask.cumsum(-1) - mask.long()


def positions(mask: Bool[Tensor, "batch token"]) -> Int[Tensor, "batch token"]:
    """A permutation of the positions: the real ones first, in order, then the masked ones."""
    places = torch.where(mask, ordinals(mask), mask.sum(-1, keepdim=True) + ordinals(~mask))
    here = torch.arange(mask.shape[-1], device=mask.device).expand_as(places)
    return torch.empty_like(places).scatter_(-1, places, here)


def packed(values: Shaped[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]) -> Shaped[Tensor, "batch token"]:
    """The values of real tokens moved to the left, zeros after them."""
    real = torch.arange(mask.shape[-1], device=mask.device) < mask.sum(-1, keepdim=True)
    return torch.zeros_like(values).masked_scatter_(real, values[mask])


def by_length(lengths: Int[Tensor, " batch"], cells: int, power: int = 1) -> Iterator[tuple[Int[Tensor, " rows"], int]]:
    """Rows of like length and the longest of those lengths, with rows × longest^power ≤ cells (or one row)."""
    ordered, order = lengths.sort(stable=True)
    sizes, start = ordered.tolist(), 0
    while start < len(sizes):
        ends = range(start + 1, len(sizes) + 1)
        fitting = bisect_right(ends, cells, key=lambda end: (end - start) * sizes[end - 1] ** power)
        end = start + max(1, fitting)
        yield order[start:end], int(sizes[end - 1])
        start = end

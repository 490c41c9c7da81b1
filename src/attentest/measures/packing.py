"""Real tokens, wherever a mask puts them: counted, moved to the left, grouped by length."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

__all__ = ["by_length", "cheapest_cuts", "consecutive", "ordinals", "packed", "positions"]


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


def consecutive(lengths: Int[Tensor, " batch"], cells: int, power: int = 1) -> Iterator[slice]:
    """Rows that stand beside each other, with rows × longest^power ≤ cells (or one row)."""
    sizes, start = lengths.tolist(), 0
    while start < len(sizes):
        end, longest = start + 1, sizes[start]
        while end < len(sizes) and (end + 1 - start) * max(longest, sizes[end]) ** power <= cells:
            longest, end = max(longest, sizes[end]), end + 1
        yield slice(start, end)
        start = end


def cheapest_cuts(
    lengths: Int[Tensor, " batch"], step: float, most: Callable[[int], int]
) -> Iterator[Int[Tensor, " rows"]]:
    """Rows of like length, cut where it costs least: rows × longest² / 2 pairs, and ``step`` pairs for each position.

    ``most`` says how many rows of a length go together at most; one always does.
    """
    ordered, order = lengths.sort(stable=True)
    sizes, counts = (found.tolist() for found in ordered.unique_consecutive(return_counts=True))
    ends = [0]
    for count in counts:
        ends.append(ends[-1] + count)
    least, cut = [0.0], [0]
    for end, size in enumerate(sizes, start=1):
        room = max(1, most(max(1, size)))
        costs = []
        for begin in range(end):
            rows = ends[end] - ends[begin]
            costs.append(least[begin] + rows * size**2 / 2 + step * size * -(-rows // room))
        cut.append(min(range(end), key=costs.__getitem__))
        least.append(costs[cut[-1]])
    bounds, end = [], len(sizes)
    while end:
        bounds.append((cut[end], end))
        end = cut[end]
    for begin, end in reversed(bounds):
        yield from order[ends[begin] : ends[end]].split(max(1, most(max(1, sizes[end - 1]))))

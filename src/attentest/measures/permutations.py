"""All T! permutations of attention over real tokens, in closed form or one by one (docs: the exact adversary)."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.measures.packing import ordinals, positions

__all__ = ["ENUMERABLE", "Enumeration", "Moments", "all_permutations", "moments"]

ENUMERABLE = 5
"""The longest text whose permutations are listed rather than drawn: 5! = 120."""


class Moments(NamedTuple):
    """The mean, variance and extremes of a logit Σ α_π(t) z_t over all permutations π."""

    mean: Float[Tensor, " batch"]
    variance: Float[Tensor, " batch"]
    lowest: Float[Tensor, " batch"]
    highest: Float[Tensor, " batch"]


class Enumeration(NamedTuple):
    """Positions to gather from, one row a permutation, and which rows are permutations and not filling."""

    order: Int[Tensor, "batch permutation token"]
    valid: Bool[Tensor, "batch permutation"]


def moments(
    weights: Float[Tensor, "batch token"],
    margins: Float[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
) -> Moments:
    """Mean z̄ (for weights that sum to one), variance Σ(α − 1/T)² Σ(z − z̄)² / (T − 1), and the extremes.

    The extremes sort both vectors the same or the opposite way (rearrangement inequality).
    """
    alpha, z = weights.double().masked_fill(~mask, 0.0), margins.double().masked_fill(~mask, 0.0)
    length = mask.sum(-1).double()
    mean_alpha, mean_z = alpha.sum(-1) / length, z.sum(-1) / length
    spread_alpha = (alpha - mean_alpha[:, None]).square().masked_fill(~mask, 0.0).sum(-1)
    spread_z = (z - mean_z[:, None]).square().masked_fill(~mask, 0.0).sum(-1)

    real = torch.arange(mask.shape[-1], device=mask.device) < length[:, None]
    rising = alpha.masked_fill(~mask, math.inf).sort(-1).values
    rising_z = z.masked_fill(~mask, math.inf).sort(-1).values
    falling_z = z.masked_fill(~mask, -math.inf).sort(-1, descending=True).values
    return Moments(
        mean=length * mean_alpha * mean_z,
        variance=spread_alpha * spread_z / (length - 1).clamp(min=1.0),
        lowest=(rising * falling_z).where(real, 0.0).sum(-1),
        highest=(rising * rising_z).where(real, 0.0).sum(-1),
    )


def all_permutations(mask: Bool[Tensor, "batch token"]) -> Enumeration:
    """Every permutation of the real tokens of texts of at most five; longer texts have no valid row."""
    lengths = mask.sum(-1)
    enumerable = lengths <= ENUMERABLE
    short = torch.where(enumerable, lengths, 0)
    table = _table(int(short.max()) if len(mask) else 0).to(mask.device)

    valid = torch.arange(table.shape[1], device=mask.device) < _factorials(mask.device)[short][:, None]
    columns = ordinals(mask).clamp(max=table.shape[2] - 1)[:, None].expand(-1, table.shape[1], -1)
    ranks = table[short].gather(-1, columns)
    placed = positions(mask)[:, None].expand(-1, table.shape[1], -1).gather(-1, ranks)
    here = torch.arange(mask.shape[-1], device=mask.device)
    return Enumeration(
        order=torch.where(mask[:, None] & enumerable[:, None, None], placed, here),
        valid=valid & enumerable[:, None],
    )


def _factorials(device: torch.device) -> Int[Tensor, " length"]:
    return torch.tensor([math.factorial(n) for n in range(ENUMERABLE + 1)], device=device)


@cache
def _table(longest: int) -> Int[Tensor, "length permutation token"]:
    """The permutations of 0 … n−1 in lexicographic order for every n up to the longest, filled with the identity."""
    width = max(1, longest)
    table = torch.arange(width).repeat(longest + 1, math.factorial(longest), 1)
    for n in range(1, longest + 1):
        listed = torch.tensor(list(itertools.permutations(range(n))))
        table[n, : len(listed), :n] = listed
    return table

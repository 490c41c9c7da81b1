"""Capture: how much of what matters do the top tokens of another ranking hold?

Rank correlations count the order of every two tokens alike, also of two that do not matter at all. This counts
only effect: choose k tokens by one score and see how much of the other they hold, between chance and the best.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

__all__ = ["captured", "deciding", "held_share"]


def captured(
    choosing: Float[Tensor, "batch token"],
    effect: Float[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
    k: int,
) -> Float[Tensor, " batch"]:
    """(Σ effect of the k tokens chosen − chance) / (the best k − chance): 1 is the best choice, 0 is a blind one.

    At most half of the tokens are chosen, so that the worst choice is no lower than −1. Chance is k/T of all
    effect. Undefined (NaN) for one token and where every choice holds the same. Equal tokens, such as those of sparse
    attention without weight, hold what they do in expectation over all ways to break the tie.
    """
    effect = effect.double().where(mask, 0.0)
    lengths = mask.sum(-1).double()
    count = torch.clamp(lengths // 2, 1, k).long()
    within = torch.arange(mask.shape[-1], device=mask.device) < count[:, None]
    chosen = _held_by_top(choosing, effect, mask, count)
    best = effect.sort(-1, descending=True).values.where(within, 0.0).sum(-1)
    chance = effect.sum(-1) * count / lengths.clamp(min=1)
    room = best - chance
    defined = (lengths > 1) & (room > 1e-12 * best.abs())
    return torch.where(defined, (chosen - chance) / room.where(defined, 1.0), math.nan)


def deciding(mass: Float[Tensor, "batch token"], share: float) -> Int[Tensor, " batch"]:
    """How many tokens mattered at least this share of what the one that mattered most did; none where none did."""
    most = mass.amax(-1, keepdim=True)
    return ((mass >= share * most) & (most > 0)).sum(-1)


def held_share(
    choosing: Float[Tensor, "batch token"],
    mass: Float[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
    top: Int[Tensor, " batch"],
) -> Float[Tensor, " batch"]:
    """How much of the mass the ``top`` highest tokens hold, between a blind choice (0) and the best (1).

    Equal tokens hold what they do in expectation over all ways to break the tie. Undefined (NaN) where no token or
    every token is chosen, or every choice is as good.
    """
    mass = mass.double().where(mask, 0.0)
    lengths = mask.sum(-1)
    chosen = _held_by_top(choosing, mass, mask, top)
    within = torch.arange(mask.shape[-1], device=mask.device) < top[:, None]
    best = mass.sort(-1, descending=True).values.where(within, 0.0).sum(-1)
    blind = mass.sum(-1) * top / lengths.clamp(min=1)
    room = best - blind
    defined = (top > 0) & (top < lengths) & (room > 1e-9 * best)
    return torch.where(defined, (chosen - blind) / room.where(defined, 1.0), math.nan)


def _held_by_top(
    choosing: Float[Tensor, "batch token"],
    mass: Float[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
    top: Int[Tensor, " batch"],
) -> Float[Tensor, " batch"]:
    """The mass of the ``top`` highest tokens, in expectation over ties at the edge."""
    scores = choosing.double().masked_fill(~mask, -math.inf)
    last = (top - 1).clamp(min=0)[:, None]
    edge = scores.sort(-1, descending=True).values.gather(-1, last)
    above, tied = scores > edge, (scores == edge) & mask
    left = top - above.sum(-1)
    return (mass * above).sum(-1) + left * (mass * tied).sum(-1) / tied.sum(-1).clamp(min=1)

"""Slabs low ≤ Σ α'_t m_t ≤ high that hold all attention within ε of a prediction (docs: the exact adversary)."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

__all__ = ["FEW", "Slabs", "implied_slabs", "slabs_around"]

FEW = 8
"""Up to so many outcomes all of them are compared, two by two; of more, so many are chosen for every text."""


class Slabs(NamedTuple):
    """Every token's place in every slab, and between what the attention's mean place must lie."""

    margins: Float[Tensor, "rows token slab"]
    low: Float[Tensor, "rows slab"]
    high: Float[Tensor, "rows slab"]


def slabs_around(
    z: Float[Tensor, "rows token outcome"],
    mask: Bool[Tensor, "rows token"],
    y: Float[Tensor, "rows outcome"],
    epsilon: float,
) -> Slabs:
    """The slabs around predictions y: as many for a thousand outcomes as for eight, and a few of groups beside them.

    Whatever is left out only makes a bound larger: the smallest over some slabs is never below that over all.
    """
    outcomes = y.shape[-1]
    if outcomes <= FEW:
        chosen = torch.arange(outcomes, device=y.device).expand(len(y), -1)
        directions, low, high = implied_slabs(y, epsilon, chosen)
        return Slabs(z @ directions.transpose(1, 2), low, high)
    directions, low, high = implied_slabs(y, epsilon, _chosen(z, mask, y, epsilon))
    grouped = _groups(z, y, epsilon)
    return Slabs(
        torch.cat([z @ directions.transpose(1, 2), grouped.margins], -1),
        torch.cat([low, grouped.low], -1),
        torch.cat([high, grouped.high], -1),
    )


def implied_slabs(
    y: Float[Tensor, "rows outcome"], epsilon: float, chosen: Int[Tensor, "rows some"]
) -> tuple[Float[Tensor, "rows slab outcome"], Float[Tensor, "rows slab"], Float[Tensor, "rows slab"]]:
    """Directions v with Σ v = 0, and the least and greatest v·ln y' over all y' with TVD(y', y) ≤ ε.

    The chosen outcomes two by two, then each of them against all others.
    """
    less, more = (y - epsilon).clamp(min=0.0).log(), (y + epsilon).log()
    unit = torch.zeros((*chosen.shape, y.shape[-1]), dtype=y.dtype, device=y.device).scatter_(-1, chosen[..., None], 1)
    directions, low, high = [], [], []
    least, most = less.gather(-1, chosen), more.gather(-1, chosen)
    for c, d in combinations(range(chosen.shape[-1]), 2):
        directions.append(unit[:, c] - unit[:, d])
        low.append(least[:, c] - most[:, d])
        high.append(most[:, c] - least[:, d])
    for c in range(chosen.shape[-1]):
        # v·ln y' = logit y'_c + H(w) + KL(w ‖ w'), where w and w' are the shares of the others in y and y'. It is
        # least where the others keep their shares, and greatest where c takes all of ε from one of them.
        others = y.masked_fill(unit[:, c].bool(), 0.0)
        w = others / others.sum(-1, keepdim=True)
        directions.append(unit[:, c] - w)
        low.append(least[:, c] - (others.sum(-1) + epsilon).log() - torch.xlogy(w, w).sum(-1))
        taken = torch.where(w > 0, w * (y.log() - less), 0.0).amax(-1)
        high.append(most[:, c] - torch.xlogy(w, y).sum(-1) + taken)
    return torch.stack(directions, 1), torch.stack(low, 1), torch.stack(high, 1)


def _chosen(
    z: Float[Tensor, "rows token outcome"],
    mask: Bool[Tensor, "rows token"],
    y: Float[Tensor, "rows outcome"],
    epsilon: float,
) -> Int[Tensor, "rows some"]:
    """The likeliest outcomes, and those that the most tokens would make likelier than ε allows."""
    likeliest = y.topk(FEW // 2, -1).indices
    best = likeliest[:, :1]
    allowed = (y + epsilon).log() - (y.gather(-1, best) - epsilon).clamp(min=0.0).log()
    beyond = z - z.gather(-1, best[:, None].expand(-1, z.shape[1], -1)) - allowed[:, None]
    many = beyond.clamp_(0.0, 1.0).masked_fill_(~mask[..., None], 0.0).sum(1).scatter_(-1, likeliest, -1.0)
    return torch.cat([likeliest, many.topk(FEW - FEW // 2, -1).indices], -1)


def _groups(z: Float[Tensor, "rows token outcome"], y: Float[Tensor, "rows outcome"], epsilon: float) -> Slabs:
    """The 1, 2, 4, … likeliest outcomes together against all others: S may gain, and may lose, no more than ε.

    logit y'(S) = L_S − L_R with L = ln Σ exp ℓ' over the outcomes of S, or over the rest R. L is convex: it is no more
    than Σ α'_t L(z_t), and no less than w·ℓ' + H(w) for any shares w. So either side of the slab is linear in α'.
    """
    order = y.argsort(dim=-1, descending=True, stable=True)
    y, z = y.gather(-1, order), z.gather(-1, order[:, None].expand_as(z))
    margins, low, high = [], [], []
    size = 1
    while size < y.shape[-1]:
        (top, rest), (z_top, z_rest) = y.tensor_split([size], -1), z.tensor_split([size], -1)
        inside, outside = top.sum(-1), rest.sum(-1)
        nowhere = torch.full_like(inside, torch.inf)
        margins += [z_top.logsumexp(-1) - _tangent(z_rest, rest), _tangent(z_top, top) - z_rest.logsumexp(-1)]
        low += [(inside - epsilon).clamp(min=0.0).log() - (outside + epsilon).log(), -nowhere]
        high += [nowhere, (inside + epsilon).log() - (outside - epsilon).clamp(min=0.0).log()]
        size *= 2
    return Slabs(torch.stack(margins, -1), torch.stack(low, -1), torch.stack(high, -1))


def _tangent(z: Float[Tensor, "rows token some"], y: Float[Tensor, "rows some"]) -> Float[Tensor, "rows token"]:
    """w·z_t + H(w) for the shares w of these outcomes: the plane that touches ln Σ exp where they are likely so."""
    y = y.clamp(min=1e-300)
    w = y / y.sum(-1, keepdim=True)
    return (z @ w[..., None]).squeeze(-1) - torch.xlogy(w, w).sum(-1)[:, None]

"""The vertices of the simplex cut by half-planes of the logits: all of them, for three outcomes.

Attention α' over T tokens puts its logits at Σ α'_t x_t. Where those must lie in a polygon, a vertex of the
feasible set mixes at most three tokens: one inside, two on an edge, or three on a corner.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.measures.divergence import sparse_jensen_shannon
from attentest.measures.packing import positions

__all__ = ["Pairs", "Triples", "corners_of", "pairs_within", "triples_at"]

_TOLERANCE = 1e-9  # outwards: a bound may be too large by rounding, never too small


class Pairs(NamedTuple):
    """Mixtures t·e_first + (1 − t)·e_second at the ends of what the half-spaces leave of each segment."""

    divergence: Float[Tensor, "batch pair"]
    first: Int[Tensor, "batch pair"]
    second: Int[Tensor, "batch pair"]
    end: Float[Tensor, "batch pair"]
    middle: Float[Tensor, "batch pair"]


class Triples(NamedTuple):
    """The best three tokens that mix to each corner, divergence −∞ where no three do."""

    divergence: Float[Tensor, "batch corner"]
    tokens: Int[Tensor, "batch corner 3"]


def pairs_within(
    alpha: Float[Tensor, "batch token"],
    excess: Float[Tensor, "batch token bound"],
    mask: Bool[Tensor, "batch token"],
    keep: int,
) -> Pairs:
    """The best single tokens and pairs within all half-spaces, given how far each token is beyond each of them."""
    first, second = torch.triu_indices(alpha.shape[1], alpha.shape[1], device=alpha.device)
    until, since = torch.ones_like(alpha[:, first]), torch.zeros_like(alpha[:, first])
    for bound in excess.unbind(-1):
        beyond, before = bound[:, first], bound[:, second]
        rise = beyond - before
        crossing = -before / rise
        never = (rise == 0) & (before > _TOLERANCE)
        until = torch.where(rise > 0, torch.minimum(until, crossing), until).masked_fill(never, -1.0)
        since = torch.where(rise < 0, torch.maximum(since, crossing), since)
    possible = (since <= until + _TOLERANCE) & mask[:, first] & mask[:, second]

    here = torch.stack([alpha[:, first], alpha[:, second]], -1)
    alone = first == second
    ends = []
    for end in (since, until):
        share = end.clamp(0.0, 1.0).masked_fill(alone, 1.0)
        value = sparse_jensen_shannon(here, torch.stack([share, 1 - share], -1))
        value = torch.where(alone, sparse_jensen_shannon(here[..., :1], torch.ones_like(share)[..., None]), value)
        ends.append((value.masked_fill(~possible, -math.inf), share))
    values, order = torch.cat([value for value, _ in ends], -1).topk(min(keep, 2 * len(first)), -1)
    shares = torch.cat([share for _, share in ends], -1).gather(-1, order)
    which = order % len(first)
    middle = ((since + until) / 2).clamp(0.0, 1.0).masked_fill(alone, 1.0).gather(-1, which)
    return Pairs(values, first[which], second[which], shares, middle)


def corners_of(
    normals: Float[Tensor, "batch bound 2"], offsets: Float[Tensor, "batch bound"]
) -> tuple[Float[Tensor, "batch corner 2"], Bool[Tensor, "batch corner"]]:
    """Where two edges of the polygon n·x ≤ b meet, and whether it is a corner of it (infinite b: no edge)."""
    e, f = torch.triu_indices(normals.shape[1], normals.shape[1], 1, device=normals.device)
    real = offsets.isfinite()
    bound = offsets.masked_fill(~real, 1.0)
    normals = normals.masked_fill(~real[..., None], 0.0)
    turn = _cross(normals[:, e], normals[:, f])
    x = (bound[:, e] * normals[:, f, 1] - bound[:, f] * normals[:, e, 1]) / turn
    y = (bound[:, f] * normals[:, e, 0] - bound[:, e] * normals[:, f, 0]) / turn
    corners = torch.stack([x, y], -1)
    # The flatter two edges meet, the less their meeting point is known; to leave out a corner would be unsafe.
    slack = _TOLERANCE + 1e-14 * (1 + bound.abs().amax(-1, keepdim=True)) / turn.abs()
    inside = (corners @ normals.transpose(1, 2) - bound[:, None] <= slack[..., None]).all(-1)
    inside &= real[:, e] & real[:, f] & (turn != 0)
    first = positions(inside)[:, : int(inside.sum(-1).max()) if len(inside) else 0]
    return corners.gather(1, first[..., None].expand(-1, -1, 2)), inside.gather(1, first)


def triples_at(
    alpha: Float[Tensor, "batch token"],
    points: Float[Tensor, "batch token 2"],
    mask: Bool[Tensor, "batch token"],
    corners: Float[Tensor, "batch corner 2"],
    valid: Bool[Tensor, "batch corner"],
) -> Triples:
    """The best mixture of three tokens on each corner, by barycentric coordinates of every triangle."""
    width = alpha.shape[1]
    triangles = torch.combinations(torch.arange(width, device=alpha.device), 3)
    divergence = alpha.new_full(valid.shape, -math.inf)
    tokens = triangles.new_zeros((*valid.shape, 3))
    if not len(triangles):
        return Triples(divergence, tokens)
    i, j, k = triangles.unbind(-1)
    whole = mask[:, triangles].all(-1)
    for c in range(valid.shape[1]):
        arms = points - corners[:, c, None]
        areas = _cross(arms[:, :, None], arms[:, None]).flatten(1)
        opposite = areas[:, j * width + k], areas[:, k * width + i], areas[:, i * width + j]
        area = opposite[0] + opposite[1] + opposite[2]
        around = whole & valid[:, c, None] & (area != 0)
        for part in opposite:
            around &= part * area.sign() >= -_TOLERANCE * area.abs()
        rows, which = around.nonzero(as_tuple=True)
        shares = torch.stack([part[rows, which] / area[rows, which] for part in opposite], -1).clamp(0.0, 1.0)
        values = torch.full_like(area, -math.inf)
        values[rows, which] = sparse_jensen_shannon(alpha[rows[:, None], triangles[which]], shares)
        divergence[:, c], best = values.max(-1)
        tokens[:, c] = triangles[best]
    return Triples(divergence, tokens)


def _cross(a: Float[Tensor, "*#batch 2"], b: Float[Tensor, "*#batch 2"]) -> Float[Tensor, "*batch"]:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]

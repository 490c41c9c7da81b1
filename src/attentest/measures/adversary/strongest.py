"""The attention that differs most while the prediction stays within ε: the global optimum (docs: the exact adversary).

Jensen–Shannon divergence is convex and the constraint is a slab low ≤ α'·z ≤ high, so the maximum is
at a vertex of simplex ∩ slab: one token inside the slab, or two mixed so that they lie on its edge.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.measures.divergence import LN2, sparse_jensen_shannon, xlogx
from attentest.measures.packing import by_length, positions

__all__ = [
    "Adversary",
    "normalised",
    "slab_adversary",
    "strongest_adversary",
    "unconstrained_divergence",
]

PAIRS_AT_ONCE = 1 << 18  # pairs of tokens looked at together, so that memory does not grow with T²
_TOLERANCE = 1e-10  # in logits: a token on the edge of the slab is inside, whatever the rounding


class Adversary(NamedTuple):
    """Weights ``share`` on token ``first`` and the rest on ``second`` (the same token when it stands alone).

    ``unconstrained`` is the largest divergence of any attention, max_i JSD(e_i, α). Where no attention fits,
    the divergence is NaN, the weights are zero and the tokens −1.
    """

    divergence: Float[Tensor, " batch"]
    weights: Float[Tensor, "batch token"]
    first: Int[Tensor, " batch"]
    second: Int[Tensor, " batch"]
    share: Float[Tensor, " batch"]
    unconstrained: Float[Tensor, " batch"]


class _Vertex(NamedTuple):
    divergence: Float[Tensor, " batch"]
    first: Int[Tensor, " batch"]
    second: Int[Tensor, " batch"]
    share: Float[Tensor, " batch"]


def strongest_adversary(
    weights: Float[Tensor, "batch token"],
    margins: Float[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
    epsilon: float,
) -> Adversary:
    """max JSD(α', α) subject to |σ(α'·z) − σ(α·z)| ≤ ε (Jain & Wallace eq. 1), margins z = z₁ − z₀."""
    low, high = _slab(weights, margins, mask, epsilon)
    return slab_adversary(weights, margins, mask, low, high)


def slab_adversary(
    weights: Float[Tensor, "batch token"],
    margins: Float[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
    low: Float[Tensor, " batch"],
    high: Float[Tensor, " batch"],
) -> Adversary:
    """max JSD(α', α) subject to low ≤ α'·z ≤ high; either bound may be infinite."""
    alpha, z = normalised(weights, mask), margins.double()
    vertex = _best_vertex(alpha, z, mask, low, high)
    return Adversary(
        vertex.divergence,
        _mixture(vertex, alpha),
        vertex.first,
        vertex.second,
        vertex.share,
        unconstrained=unconstrained_divergence(weights, mask),
    )


def normalised(
    weights: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]
) -> Float[Tensor, "batch token"]:
    """The weights of real tokens in float64, summing to one to the last bit that softmax in float32 left off."""
    alpha = weights.double().masked_fill(~mask, 0.0)
    return alpha / alpha.sum(-1, keepdim=True)


def unconstrained_divergence(
    weights: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]
) -> Float[Tensor, " batch"]:
    """max_i JSD(e_i, α): how far any attention can be from this one, whatever it predicts."""
    least = normalised(weights, mask).masked_fill(~mask, math.inf).amin(-1)
    return _alone(least).where(mask.any(-1), math.nan)


def _slab(
    weights: Float[Tensor, "batch token"],
    margins: Float[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
    epsilon: float,
) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """The logits of y − ε and y + ε, infinite where those leave (0, 1)."""
    if not 0.0 <= epsilon <= 1.0:
        raise ValueError(f"epsilon is {epsilon}: a change of probability lies between 0 and 1.")
    logit = (normalised(weights, mask) * margins.double().masked_fill(~mask, 0.0)).sum(-1)
    yes, no = logit.sigmoid(), logit.neg().sigmoid()
    low = ((yes - epsilon).log() - (no + epsilon).log()).where(yes > epsilon, -math.inf)
    high = ((yes + epsilon).log() - (no - epsilon).log()).where(no > epsilon, math.inf)
    return low, high


def _best_vertex(
    alpha: Float[Tensor, "batch token"],
    z: Float[Tensor, "batch token"],
    free: Bool[Tensor, "batch token"],
    low: Float[Tensor, " batch"],
    high: Float[Tensor, " batch"],
) -> _Vertex:
    """The best vertex on free tokens; ties go to single tokens, then to the lower bound and the lowest index."""
    inside = free & (z >= low[:, None] - _TOLERANCE) & (z <= high[:, None] + _TOLERANCE)
    least, token = alpha.masked_fill(~inside, math.inf).min(-1)
    best = _Vertex(_alone(least).where(inside.any(-1), -math.inf), token, token, torch.ones_like(least))
    order = z.masked_fill(~free, math.inf).argsort(dim=-1, stable=True)
    for bound in (low, high):
        rival = _best_pair(alpha, z, free & bound.isfinite()[:, None], bound, order)
        better = rival.divergence > best.divergence
        best = _Vertex(*(torch.where(better, new, old) for new, old in zip(rival, best, strict=True)))
    found = best.divergence >= -1.0
    return _Vertex(
        best.divergence.clamp(0.0, LN2).where(found, math.nan),
        best.first.where(found, -1),
        best.second.where(found, -1),
        best.share.where(found, math.nan),
    )


def _best_pair(
    alpha: Float[Tensor, "batch token"],
    z: Float[Tensor, "batch token"],
    free: Bool[Tensor, "batch token"],
    bound: Float[Tensor, " batch"],
    order: Int[Tensor, "batch token"],
) -> _Vertex:
    """The best mixture of a token above the bound with one below it that lies on the bound."""
    above = _front(alpha, free & (z > bound[:, None]), order)
    below = _front(alpha, free & (z < bound[:, None]), order)
    sizes = torch.where(above.any(-1) & below.any(-1), torch.maximum(above.sum(-1), below.sum(-1)), 0)
    places_above, places_below = positions(above), positions(below)
    divergence, share = torch.full_like(bound, -math.inf), torch.ones_like(bound)
    first, second = torch.zeros_like(sizes), torch.zeros_like(sizes)

    mixed = sizes.nonzero().squeeze(-1)
    for part, widest in by_length(sizes[mixed], PAIRS_AT_ONCE, power=2):
        rows = mixed[part]
        i, j = places_above[rows, :widest], places_below[rows, :widest]
        values, shares = _on_bound(
            alpha[rows].gather(-1, i), z[rows].gather(-1, i), alpha[rows].gather(-1, j), z[rows].gather(-1, j),
            bound[rows],
        )  # fmt: skip
        values.masked_fill_(~(above[rows].gather(-1, i)[:, :, None] & below[rows].gather(-1, j)[:, None]), -math.inf)
        divergence[rows], cell = values.flatten(1).max(-1)
        share[rows] = shares.flatten(1).gather(-1, cell[:, None]).squeeze(-1)
        first[rows] = i.gather(-1, (cell // i.shape[1])[:, None]).squeeze(-1)
        second[rows] = j.gather(-1, (cell % i.shape[1])[:, None]).squeeze(-1)
    return _Vertex(divergence, first, second, share)


def _front(
    alpha: Float[Tensor, "batch token"], side: Bool[Tensor, "batch token"], order: Int[Tensor, "batch token"]
) -> Bool[Tensor, "batch token"]:
    """The tokens of one side of the bound that can be part of the best pair.

    In a pair the divergence falls in both weights and is convex in the share, so a token loses against one of
    two others when both have no more weight and its margin lies between theirs.
    """
    sorted_alpha = alpha.masked_fill(~side, math.inf).gather(-1, order)
    first = _falls(sorted_alpha) | _falls(sorted_alpha.flip(-1)).flip(-1)
    return torch.empty_like(side).scatter_(-1, order, first) & side


def _falls(values: Float[Tensor, "batch token"]) -> Bool[Tensor, "batch token"]:
    """Whether a value is smaller than all before it."""
    least = values.cummin(-1).values
    return torch.cat([torch.ones_like(values[:, :1], dtype=torch.bool), values[:, 1:] < least[:, :-1]], -1)


def _on_bound(
    alpha_i: Float[Tensor, "rows i"],
    z_i: Float[Tensor, "rows i"],
    alpha_j: Float[Tensor, "rows j"],
    z_j: Float[Tensor, "rows j"],
    bound: Float[Tensor, " rows"],
) -> tuple[Float[Tensor, "rows i j"], Float[Tensor, "rows i j"]]:
    """The divergence of every pair, ln 2 + ½ [L(α_i) + L(α_j) + L(a) + L(1−a) − L(α_i+a) − L(α_j+1−a)], and a."""
    share = (bound[:, None] - z_j)[:, None] / (z_i[:, :, None] - z_j[:, None])
    rest = 1 - share
    twice = xlogx(share).add_(xlogx(rest))
    twice -= xlogx(share + alpha_i[:, :, None])
    twice -= xlogx(rest.add_(alpha_j[:, None]))
    twice += xlogx(alpha_i)[:, :, None]
    twice += xlogx(alpha_j)[:, None]
    return twice.mul_(0.5).add_(LN2), share


def _alone(alpha: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    """JSD(e_i, α), which falls in α_i."""
    return sparse_jensen_shannon(alpha[:, None], torch.ones_like(alpha)[:, None])


def _mixture(vertex: _Vertex, alpha: Float[Tensor, "batch token"]) -> Float[Tensor, "batch token"]:
    found = vertex.first >= 0
    first, second = (index.clamp(min=0)[:, None] for index in (vertex.first, vertex.second))
    share = vertex.share[:, None]
    mixture = torch.zeros_like(alpha).scatter_(-1, second, 1 - share).scatter_add_(-1, first, share)
    return mixture.where(found[:, None], 0.0)

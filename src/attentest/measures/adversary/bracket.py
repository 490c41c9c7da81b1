"""How far attention can move while a prediction of many outcomes stays within ε: a bracket (docs: the exact adversary).

From above: each slab around the feasible set is the problem of ``strongest``, so the smallest of their optima is a
bound; for three outcomes the slabs meet in a polygon, and all vertices over it can be listed. From below: every
attention that really keeps the prediction.
"""

from __future__ import annotations

import math
from itertools import combinations, permutations
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.measures.adversary.neighbourhood import Neighbourhood
from attentest.measures.adversary.polygon import corners_of, pairs_within, triples_at
from attentest.measures.adversary.slabs import FEW, implied_slabs
from attentest.measures.adversary.strongest import normalised, slab_adversary, strongest_adversary
from attentest.measures.divergence import LN2, sparse_jensen_shannon
from attentest.measures.packing import by_length, positions

__all__ = ["Bracket", "bracket"]

_PAIRS = 1 << 18  # ordered pairs of tokens looked at together
_TRIPLES = 1 << 20  # ordered triples of tokens looked at together
_LONGEST = 48  # tokens; of longer texts the triples are not listed
_SUBSETS = 256  # sets of as many tokens as outcomes that are tried
_KEPT = 8  # pairs and mixtures that are tried for real
_OPEN = 1e-3  # brackets wider than this are worth the triples
_ROUNDS = 3  # of polishing


class Bracket(NamedTuple):
    """The largest divergence lies in [lower, upper]; ``weights`` attain the lower bound, which is no optimum."""

    lower: Float[Tensor, " batch"]
    upper: Float[Tensor, " batch"]
    weights: Float[Tensor, "batch token"]


def bracket(
    weights: Float[Tensor, "batch token"],
    token_logits: Float[Tensor, "batch token outcome"],
    mask: Bool[Tensor, "batch token"],
    epsilon: float,
    starts: Float[Tensor, "batch k token"] | None = None,
) -> Bracket:
    """Bounds on max JSD(α', α) subject to TVD(softmax(Σ α'_t z_t), softmax(Σ α_t z_t)) ≤ ε.

    They are equal for two outcomes. ``starts`` are more weights to try, for instance from a gradient search.
    """
    outcomes = token_logits.shape[-1]
    if outcomes < 2:
        raise ValueError(f"{outcomes} outcome: give one sigmoid as two outcomes, the first with logits of zero.")
    if outcomes == 2:
        margins = token_logits[..., 1].double() - token_logits[..., 0].double()
        exact = strongest_adversary(weights, margins, mask, epsilon)
        return Bracket(exact.divergence, exact.divergence, exact.weights)

    alpha, lengths, places = normalised(weights, mask), mask.sum(-1), positions(mask)
    tried = (weights[:, None] if starts is None else starts).double().masked_fill(~mask[:, None], 0.0)
    tried = tried / tried.sum(-1, keepdim=True)
    lower, upper = torch.full_like(alpha[:, 0], math.nan), torch.full_like(alpha[:, 0], math.nan)
    found = torch.zeros_like(alpha)
    some = lengths.nonzero().squeeze(-1)
    for part, longest in by_length(lengths[some], _PAIRS, power=2):
        # A row also holds every token's logits several times over; of few outcomes that is less than its pairs.
        for rows in some[part].split(max(1, _PAIRS // (longest * max(longest, outcomes)))):
            here = places[rows, :longest]
            near = Neighbourhood.of(
                alpha[rows].gather(-1, here),
                token_logits[rows].double().gather(1, here[..., None].expand(-1, -1, outcomes)),
                torch.arange(longest, device=mask.device) < lengths[rows, None],
                epsilon,
            )
            lower[rows], upper[rows], weights_found = _bracketed(
                near, tried[rows].gather(-1, here[:, None].expand(-1, tried.shape[1], -1))
            )
            found[rows] = found[rows].scatter_(-1, here, weights_found)
    return Bracket(lower, upper, found)


def _bracketed(near: Neighbourhood, starts: Float[Tensor, "rows k token"]) -> Bracket:
    margins, own, outcomes = near.margins, near.alpha[:, None], near.z.shape[-1]
    goals, upper = [starts], torch.full_like(near.alpha[:, 0], LN2)
    for slab in range(margins.shape[-1]):
        widest = slab_adversary(near.alpha, margins[..., slab], near.mask, near.low[:, slab], near.high[:, slab])
        upper = torch.fmin(upper, widest.divergence)
        goals.append(widest.weights.where(widest.first[:, None] >= 0, near.alpha)[:, None])
    candidates = [own, near.pulled(own, torch.cat(goals, 1)), _two_tokens(near)]
    if outcomes <= FEW:
        candidates.append(_mixtures(near, _subsets(near)))
    best = _polished(near, near.best(torch.cat(candidates, 1)))
    lower = near.divergence(best[:, None]).squeeze(1)

    if outcomes == 3:
        lengths = near.mask.sum(-1)
        wide = ((upper - lower > _OPEN) & (lengths <= _LONGEST)).nonzero().squeeze(-1)
        for part, longest in by_length(lengths[wide], _TRIPLES, power=3):
            rows = wide[part]
            these = near.rows(rows, longest)
            bound, triples = _intersected(these)
            candidates = [best[rows, None, :longest], _mixtures(these, triples)]
            best[rows, :longest] = _polished(these, these.best(torch.cat(candidates, 1)))
            lower[rows] = these.divergence(best[rows, None, :longest]).squeeze(1)
            upper[rows] = torch.minimum(upper[rows], bound)
    return Bracket(lower, torch.maximum(lower, upper), best)


def _intersected(near: Neighbourhood) -> tuple[Float[Tensor, " rows"], Int[Tensor, "rows corner 3"]]:
    """The optimum over all slabs together, for three outcomes, and the best three tokens at every corner."""
    # Σ v = 0, so that v·ℓ = v₁ (ℓ₁ − ℓ₀) + v₂ (ℓ₂ − ℓ₀): a half-plane of these differences.
    every = torch.arange(3, device=near.z.device).expand(len(near.z), -1)
    directions, low, high = implied_slabs(near.predicted, near.epsilon, every)
    corners, valid = corners_of(torch.cat([directions, -directions], 1)[..., 1:], torch.cat([high, -low], 1))
    points = near.z[..., 1:] - near.z[..., :1]
    triples = triples_at(near.alpha, points, near.mask, corners, valid)
    pairs = pairs_within(near.alpha, near.excess, near.mask, keep=1)
    return torch.cat([pairs.divergence, triples.divergence], 1).amax(-1), triples.tokens


def _two_tokens(near: Neighbourhood) -> Float[Tensor, "rows k token"]:
    """The best pairs inside all slabs, from the middle of their segment as far out as the prediction allows."""
    pairs = pairs_within(near.alpha, near.excess, near.mask, keep=_KEPT)
    corner = torch.eye(near.alpha.shape[1], dtype=near.alpha.dtype, device=near.alpha.device)
    first, second = corner[pairs.first], corner[pairs.second]
    middle, end = (torch.lerp(second, first, share[..., None]) for share in (pairs.middle, pairs.end))
    return near.pulled(middle, end).where(pairs.divergence.isfinite()[..., None], near.alpha[:, None])


def _subsets(near: Neighbourhood) -> Int[Tensor, "rows subset outcome"]:
    """Sets of as many tokens as outcomes: extreme ones in differences of logits, and those attended to least."""
    outcomes, width = near.z.shape[-1], near.alpha.shape[1]
    rank = near.alpha.masked_fill(~near.mask, math.inf)
    for c, d in permutations(range(outcomes), 2):
        extreme = (near.z[..., c] - near.z[..., d]).masked_fill(~near.mask, -math.inf).argmax(-1)
        rank = rank.scatter(-1, extreme[:, None], -1.0)
    size = outcomes
    while size < width and math.comb(size + 1, outcomes) <= _SUBSETS:
        size += 1
    tokens = rank.argsort(dim=-1, stable=True)[:, :size]
    # torch.combinations would list all size^outcomes tuples first.
    some = list(combinations(range(tokens.shape[1]), outcomes))
    return tokens[:, torch.tensor(some, dtype=torch.long, device=tokens.device).view(-1, outcomes)]


def _mixtures(near: Neighbourhood, tokens: Int[Tensor, "rows subset outcome"]) -> Float[Tensor, "rows k token"]:
    """The best mixtures of these tokens that put the prediction on a corner of the neighbourhood."""
    row = torch.arange(len(tokens), device=tokens.device)[:, None, None]
    # As many shares as outcomes: they reach the corner's differences of logits and sum to one.
    given, wanted = near.z[row, tokens].transpose(-1, -2), _corners(near)[:, None]
    system = torch.cat([given[..., 1:, :] - given[..., :1, :], torch.ones_like(given[..., :1, :])], -2)
    right = torch.cat([wanted[..., 1:, :] - wanted[..., :1, :], torch.ones_like(wanted[..., :1, :])], -2)
    shares = torch.linalg.solve_ex(system, right.expand(-1, tokens.shape[1], -1, -1))[0].transpose(-1, -2)

    possible = (shares >= 0).all(-1) & near.mask[row, tokens].all(-1, keepdim=True)
    values = sparse_jensen_shannon(near.alpha[row, tokens][:, :, None], shares.clamp(0.0, 1.0))
    values = values.masked_fill(~possible, -math.inf).flatten(1)
    value, which = values.topk(min(_KEPT, values.shape[1]), -1)
    row, mixed = row.squeeze(-1), near.alpha.new_zeros((*value.shape, near.alpha.shape[1]))
    mixed.scatter_(-1, tokens[row, which // wanted.shape[-1]], shares.flatten(1, 2)[row, which])
    return mixed.where(value.isfinite()[..., None], near.alpha[:, None])


def _corners(near: Neighbourhood) -> Float[Tensor, "rows outcome corner"]:
    """The logarithms of y + ε (e_a − e_b), or of almost that where y_b has less than ε to give."""
    y, corners = near.predicted, []
    unit = torch.eye(y.shape[-1], dtype=y.dtype, device=y.device)
    for a, b in permutations(range(y.shape[-1]), 2):
        moved = (y[:, b] * 0.999).clamp(max=max(0.0, near.epsilon - 1e-12))
        corners.append((y + moved[:, None] * (unit[a] - unit[b])).log())
    return torch.stack(corners, -1)


def _polished(near: Neighbourhood, best: Float[Tensor, "rows token"]) -> Float[Tensor, "rows token"]:
    """The weights moved towards one token, then another, as far as the prediction is kept, where that helps.

    Divergence is convex, so nothing inside a segment is better than both its ends.
    """
    tokens = torch.eye(best.shape[1], dtype=best.dtype, device=best.device)
    for _ in range(_ROUNDS):
        share = near.as_far(best[:, None] @ near.z, near.z).masked_fill(~near.mask, 0.0)
        moved = torch.lerp(best[:, None], tokens, share[..., None])
        best = near.best(torch.cat([best[:, None], moved], 1))
    return best

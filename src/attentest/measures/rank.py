"""Agreement of two scores on the order of an instance's real tokens."""

from __future__ import annotations

import math
from functools import cache
from itertools import accumulate
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.measures.packing import by_length, packed

__all__ = [
    "Kendall",
    "average_precision",
    "kendall",
    "mean_rank",
    "rank_biased_overlap",
    "spearman",
    "top_k_hit",
    "top_k_overlap",
]

_EXACT_UP_TO = 33  # tokens; beyond it SciPy's "auto" turns to the normal approximation
PAIRS_AT_ONCE = 1 << 18  # sign matrices of this size stay in the cache


class Kendall(NamedTuple):
    """τ-b and the two-sided p-value of independence, NaN where either score is constant."""

    tau: Float[Tensor, " batch"]
    p_value: Float[Tensor, " batch"]


def kendall(
    x: Float[Tensor, "batch token"], y: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]
) -> Kendall:
    """Kendall's τ-b = (P − Q) / √((P + Q + T)(P + Q + U)), with SciPy's rule for exact p-values."""
    # Differences of infinities are undefined; of the largest finite numbers they are not.
    x, y = packed(x.nan_to_num(nan=math.nan), mask), packed(y.nan_to_num(nan=math.nan), mask)
    lengths = mask.sum(-1)
    balance, *ties = x.new_empty((7, len(x)), dtype=torch.float64)
    for rows, longest in by_length(lengths, PAIRS_AT_ONCE, power=2):
        real = torch.arange(longest, device=x.device) < lengths[rows, None]
        signs_x, signs_y = _signs(x[rows, :longest], real), _signs(y[rows, :longest], real)
        balance[rows] = (signs_x * signs_y).sum(-1).double().sum(-1) / 2
        for kinds, signs in ((ties[:3], signs_x), (ties[3:], signs_y)):
            for kind, count in zip(kinds, _tied(signs, real), strict=True):
                kind[rows] = count
    balance.masked_fill_((x.isnan() | y.isnan()).any(-1), math.nan)
    return _tau_b(lengths.double(), balance, ties)


def _signs(scores: Float[Tensor, "rows token"], real: Bool[Tensor, "rows token"]) -> Float[Tensor, "rows token token"]:
    signs = (scores[:, :, None] - scores[:, None, :]).sign_().float()
    return signs.mul_(real[:, :, None]).mul_(real[:, None, :])


def _tied(signs: Float[Tensor, "rows token token"], real: Bool[Tensor, "rows token"]) -> list[Float[Tensor, " rows"]]:
    """Over groups of t tied tokens: Σ t(t−1)/2, Σ t(t−1)(t−2) and Σ t(t−1)(2t+5)."""
    equal = real.sum(-1, keepdim=True) - signs.square_().sum(-1).double()
    others = torch.where(real, equal - 1, 0.0)
    return [(others * weight).sum(-1) for weight in (0.5, equal - 2, 2 * equal + 5)]


def _tau_b(
    n: Float[Tensor, " batch"], balance: Float[Tensor, " batch"], ties: list[Float[Tensor, " batch"]]
) -> Kendall:
    ties_x, cubes_x, spread_x, ties_y, cubes_y, spread_y = ties
    pairs = n * (n - 1) / 2
    tau = (balance / (pairs - ties_x).sqrt() / (pairs - ties_y).sqrt()).clamp(-1.0, 1.0)

    ordered = 2 * pairs
    variance = (ordered * (2 * n + 5) - spread_x - spread_y) / 18 + 2 * ties_x * ties_y / ordered
    variance = variance + (cubes_x * cubes_y / (9 * ordered * (n - 2))).nan_to_num(nan=0.0)
    approximate = torch.erfc(balance.abs() / (2 * variance).sqrt())

    rarer = ((pairs - balance.abs()) / 2).nan_to_num(nan=0.0)
    untied = (ties_x == 0) & (ties_y == 0)
    by_count = untied & ((n <= _EXACT_UP_TO) | (rarer <= 1))
    p_value = torch.where(by_count, _exact_p_value(n.long(), rarer.long()), approximate)

    defined = (pairs > ties_x) & (pairs > ties_y) & ~balance.isnan()
    return Kendall(tau.where(defined, math.nan), p_value.where(defined, math.nan))


def _exact_p_value(n: Int[Tensor, " batch"], rarer: Int[Tensor, " batch"]) -> Float[Tensor, " batch"]:
    table = inversion_probabilities().to(n.device)
    wide = n.clamp(max=len(table) - 1)
    return table[wide, torch.where(n <= _EXACT_UP_TO, rarer, rarer.clamp(max=1))]


@cache
def inversion_probabilities() -> Float[Tensor, "length inversions"]:
    """P(at most c or at least n(n−1)/2 − c inversions) of a random permutation of n; past 33 only c ≤ 1."""
    width = _EXACT_UP_TO * (_EXACT_UP_TO - 1) // 2 + 1
    table, counts = [[0.0] * width], [1]
    for n in range(1, _EXACT_UP_TO + 1):
        counts = [sum(counts[max(0, c - n + 1) : c + 1]) for c in range(n * (n - 1) // 2 + 1)]
        tail = [min(1.0, 2 * below / math.factorial(n)) for below in accumulate(counts)]
        table.append(tail + [1.0] * (width - len(tail)))
    # From 172 tokens on the factorial leaves float64, and the last row says zero.
    for n in range(_EXACT_UP_TO + 1, 172):
        table.append([2 / math.factorial(n), 2 / math.factorial(n - 1)] + [0.0] * (width - 2))
    return torch.tensor([*table, [0.0] * width], dtype=torch.float64)


def spearman(
    x: Float[Tensor, "batch token"], y: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]
) -> Float[Tensor, " batch"]:
    """Spearman's ρ: Pearson's correlation of average ranks, NaN where either score is constant."""
    u, v = _centred_ranks(x, mask), _centred_ranks(y, mask)
    return ((u * v).sum(-1) / (u.square().sum(-1) * v.square().sum(-1)).sqrt()).clamp(-1.0, 1.0)


def _centred_ranks(
    scores: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]
) -> Float[Tensor, "batch token"]:
    """Average ranks less their mean: half of how many real tokens score less, less how many score more."""
    filled = scores.double().masked_fill(~mask, math.inf)
    ordered = filled.sort(-1).values
    length = mask.sum(-1, keepdim=True)
    less = torch.searchsorted(ordered, filled)
    no_more = torch.searchsorted(ordered, filled, right=True).clamp(max=length)
    ranks = (less + no_more - length).double() / 2
    return ranks.where(~scores.isnan(), math.nan).where(mask, 0.0)


def top_k_overlap(
    x: Float[Tensor, "batch token"], y: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"], k: int
) -> Float[Tensor, " batch"]:
    """|top-k of x ∩ top-k of y| / k, with k = min(k, length) and ties by lowest index."""
    first = torch.arange(mask.shape[-1], device=mask.device) < mask.sum(-1, keepdim=True).clamp(max=k)
    return (_depth(x, y, mask) < first.sum(-1, keepdim=True)).sum(-1) / first.sum(-1).double()


def rank_biased_overlap(
    x: Float[Tensor, "batch token"],
    y: Float[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
    p: float = 0.9,
) -> Float[Tensor, " batch"]:
    """RBO_ext = A_n pⁿ + (1 − p)/p Σ_d A_d p^d, A_d the overlap at depth d (Webber et al. 2010, eq. 30)."""
    length = mask.sum(-1).double()
    depth = torch.arange(1, mask.shape[-1] + 1, device=mask.device).double()
    deepest = _depth(x, y, mask)
    shared = torch.zeros_like(deepest).scatter_add_(-1, deepest, torch.ones_like(deepest)).cumsum(-1)
    terms = shared / depth * p**depth * (depth <= length[:, None])
    score = p**length + (1 - p) / p * terms.sum(-1)  # at depth n both have seen every token: A_n = 1
    return score.where(length > 0, math.nan)


def _depth(
    x: Float[Tensor, "batch token"], y: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]
) -> Int[Tensor, "batch token"]:
    """How far down both orders one must read to have seen a token, real tokens packed to the left."""
    return torch.maximum(_places(x, mask), _places(y, mask))


def _places(scores: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]) -> Int[Tensor, "batch token"]:
    """The place of every token in decreasing order, real tokens packed to the left and ranked before padding."""
    here = torch.arange(mask.shape[-1], device=mask.device).expand(mask.shape)
    filled = packed(scores, mask).masked_fill(here >= mask.sum(-1, keepdim=True), -math.inf)
    order = filled.argsort(dim=-1, descending=True, stable=True)
    return torch.empty_like(order).scatter_(-1, order, here)


def average_precision(
    scores: Float[Tensor, "batch token"],
    relevant: Bool[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
) -> Float[Tensor, " batch"]:
    """AP = Σ (R_n − R_{n−1}) P_n over distinct thresholds, NaN where no token is relevant."""
    wanted = relevant & mask
    falling = scores.double().neg().masked_fill(~mask, math.inf)
    ordered, order = falling.sort(-1)
    found = wanted.gather(-1, order).cumsum(-1)
    # A threshold at a token's score retrieves every token that scores as much or more.
    retrieved = torch.searchsorted(ordered, falling, right=True).clamp(min=1)
    precision = found.gather(-1, retrieved - 1) / retrieved.double()
    return precision.where(wanted, 0.0).sum(-1) / wanted.sum(-1)


def mean_rank(
    scores: Float[Tensor, "batch token"],
    relevant: Bool[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
) -> Float[Tensor, " batch"]:
    """The share of the other tokens that score more than a relevant one (ties half), mean over these; .5 by chance."""
    wanted = relevant & mask
    above = 0.5 - _centred_ranks(scores, mask) / (mask.sum(-1, keepdim=True) - 1)
    return above.where(wanted, 0.0).sum(-1) / wanted.sum(-1)


def top_k_hit(
    scores: Float[Tensor, "batch token"],
    relevant: Bool[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
    k: int,
) -> Bool[Tensor, " batch"]:
    """Whether a relevant token is among the top k; ties by lowest index."""
    top = _places(scores, mask) < k
    here = torch.arange(mask.shape[-1], device=mask.device) < mask.sum(-1, keepdim=True)
    return (top & here & packed(relevant & mask, mask)).any(-1)

"""What a random order reaches: the level that average precision is read against."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["expected_average_precision", "expected_hit"]


def expected_average_precision(
    relevant: Int[Tensor, " batch"], total: Int[Tensor, " batch"]
) -> Float[Tensor, " batch"]:
    """E[AP] of a uniformly random order of T tokens, R of them relevant: (1/T) Σ_i [1 + (i−1)(R−1)/(T−1)] / i.

    A relevant token stands at each rank i with the same chance; before it, (i−1)(R−1)/(T−1) others are expected.
    It is well above the share R/T.
    """
    tokens, marked = total.double()[:, None], relevant.double()[:, None]
    rank = torch.arange(1, int(total.max()) + 1, device=total.device).double() if len(total) else tokens
    before = (rank - 1) * (marked - 1) / (tokens - 1).clamp(min=1)
    terms = torch.where(rank <= tokens, (1 + before) / rank, 0.0)
    return terms.sum(-1) / tokens[:, 0].clamp(min=1)


def expected_hit(relevant: Int[Tensor, " batch"], total: Int[Tensor, " batch"], k: int) -> Float[Tensor, " batch"]:
    """The chance that k of T tokens in random order hold one of R relevant ones: 1 − C(T−R, k) / C(T, k)."""
    tokens, others = total.double()[:, None], (total - relevant).double()[:, None]
    drawn = torch.arange(k, device=total.device).double()
    missed = ((others - drawn) / (tokens - drawn)).where(drawn < tokens, 1.0)
    return 1 - missed.clamp(min=0).prod(-1)

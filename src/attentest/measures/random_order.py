"""What a random order reaches: the level that average precision is read against."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["expected_average_precision"]


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

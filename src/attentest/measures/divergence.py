"""Divergences between distributions along the last axis, in nats; zeros are fine, 0·ln 0 = 0."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = [
    "LN2",
    "jensen_shannon",
    "sparse_jensen_shannon",
    "total_variation",
    "xlogx",
]

LN2 = math.log(2.0)
"""The largest Jensen–Shannon divergence."""


def jensen_shannon(p: Float[Tensor, "*#batch outcome"], q: Float[Tensor, "*#batch outcome"]) -> Float[Tensor, "*batch"]:
    """JSD(p, q) = ½ KL(p ‖ m) + ½ KL(q ‖ m) with m = ½ (p + q), between 0 and ln 2."""
    p, q = torch.broadcast_tensors(p.double(), q.double())
    return ((_to_middle(p, q) + _to_middle(q, p)) / 2).clamp(0.0, LN2)


def _to_middle(p: Float[Tensor, "*batch outcome"], q: Float[Tensor, "*batch outcome"]) -> Float[Tensor, "*batch"]:
    # Chosen before the division, so that neither the value nor the gradient meets 0 / 0.
    here = p > 0
    ratio = torch.where(here, 2 * p, 1.0) / torch.where(here, p + q, 1.0)
    return (p * ratio.log()).sum(-1)


def total_variation(
    p: Float[Tensor, "*#batch outcome"], q: Float[Tensor, "*#batch outcome"]
) -> Float[Tensor, "*batch"]:
    """TVD(p, q) = ½ Σ |p − q|."""
    return (p.double() - q.double()).abs().sum(-1) / 2


def sparse_jensen_shannon(
    alpha: Float[Tensor, "*#batch support"], shares: Float[Tensor, "*#batch support"]
) -> Float[Tensor, "*batch"]:
    """JSD from α of the distribution with these shares on a few outcomes: ln 2 + ½ Σ [L(α) + L(λ) − L(α + λ)].

    The sums run over those outcomes only, L(x) = x ln x; it is the formula of the docs with its terms collected.
    """
    return (LN2 + (xlogx(alpha) + xlogx(shares) - xlogx(alpha + shares)).sum(-1) / 2).clamp(0.0, LN2)


def xlogx(x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """L(x) = x ln x, zero at zero."""
    return x.clamp(min=1e-300).log_().mul_(x)

"""From energies to weights: softmax, and those that give some tokens exactly nothing."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

__all__ = ["NORMALISERS", "masked_softmax", "normalised"]

#: Martins & Astudillo 2016 and Peters et al. 2019 made the latter two.
NORMALISERS = ("softmax", "sparsemax", "entmax15")
#: Energies so far below the largest get nothing from either sparse normaliser.
FAR = 4.0


def masked_softmax(
    energies: Float[Tensor, "*batch token"], mask: Bool[Tensor, "*#batch token"]
) -> Float[Tensor, "*batch token"]:
    """Softmax over real tokens; exactly zero elsewhere, also where there is no real token at all."""
    weights = energies.masked_fill(~mask, -math.inf).softmax(-1)
    return torch.where(mask, weights, 0.0)


def normalised(
    energies: Float[Tensor, "*batch token"], mask: Bool[Tensor, "*#batch token"], normaliser: str = "softmax"
) -> Float[Tensor, "*batch token"]:
    """Weights over real tokens that sum to one; exactly zero elsewhere, also where there is no real token at all."""
    if normaliser == "softmax":
        return masked_softmax(energies, mask)
    # Here, because only sparse attention needs the package.
    from entmax import entmax15, sparsemax

    real = mask.expand(energies.shape)
    # In double precision: the thresholds are roots of differences of sums, of which long texts lose half the digits.
    exact = energies.double()
    top = exact.masked_fill(~real, -math.inf).amax(-1, keepdim=True)
    top = torch.where(real.any(-1, keepdim=True), top, 0.0).detach()
    near = torch.where(real, (exact - top).clamp(min=-FAR), -FAR)
    finite = near.isfinite().all(-1, keepdim=True)
    near = torch.where(finite, near, 0.0)
    with torch.no_grad():
        support = {"sparsemax": sparsemax, "entmax15": entmax15}[normaliser](near, -1) > 0
    weights = (_sparsemax if normaliser == "sparsemax" else _entmax15)(near, support)
    return torch.where(real, torch.where(finite, weights, math.nan), 0.0).to(energies.dtype)


# Once the support is known, both are closed forms, with derivatives of every order: the package's own have one.
def _sparsemax(energies: Float[Tensor, "*batch token"], support: Bool[Tensor, "*batch token"]) -> Tensor:
    """x − τ on the support, where τ makes the sum one."""
    count = support.sum(-1, keepdim=True)
    threshold = (torch.where(support, energies, 0.0).sum(-1, keepdim=True) - 1) / count
    return torch.where(support, energies - threshold, 0.0)


def _entmax15(energies: Float[Tensor, "*batch token"], support: Bool[Tensor, "*batch token"]) -> Tensor:
    """(x/2 − τ)² on the support, where τ makes the sum one."""
    half, count = energies / 2, support.sum(-1, keepdim=True)
    mean = torch.where(support, half, 0.0).sum(-1, keepdim=True) / count
    spread = torch.where(support, half - mean, 0.0).square().sum(-1, keepdim=True)
    threshold = mean - ((1 - spread) / count).sqrt()
    return torch.where(support, half - threshold, 0.0).square()

"""Structured attention: which tokens are read is one decision, made of neighbouring ones (Kim et al. 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attentest.models.networks.signals import AnySignal
from attentest.models.parts.attention import Attention, AttentionNetwork, EnergyNetwork
from attentest.models.parts.normalisers import masked_softmax

__all__ = ["Structured", "StructuredNetwork", "log_marginals"]

#: The logarithm of what cannot be, finite, so that gradients are numbers.
NEVER = -1e4


@dataclass(frozen=True)
class Structured(Attention):
    r"""Segmentation attention: each token is read or not, $z_t \in \{0, 1\}$, and neighbours decide together.

    Kim et al. (2017): a linear-chain conditional random field over all $z_t$. Its energies are $u_t$ for
    reading token *t*, linear in the state, $w \cdot h_t + b$, or $q \cdot W h_t / \sqrt{m} + b$ where there is a
    query, and one learned number for each of the four steps from $z_{t-1}$ to $z_t$, so that whole phrases can be
    read together. The weights are the marginals $p(z_t = 1)$ over real tokens, divided by their sum. Kim et al. do
    not divide them; here weights sum to one, as all that is exact about affine heads needs it. What is lost is how
    much is read in all; which tokens are read, and how they compare, stays.
    """

    name: ClassVar[str] = "structured"

    def build(self, size: int, query: int | None = None) -> AttentionNetwork:
        """Unary energies and the chain's steps."""
        return StructuredNetwork(size, query)


class StructuredNetwork(EnergyNetwork):
    """Marginals of a linear chain of binary variables, normalised."""

    normaliser = "chain"

    def __init__(self, size: int, query: int | None) -> None:
        super().__init__()
        self.scale = math.sqrt(size)
        self.keys = nn.Linear(size, 1 if query is None else query, bias=False)
        self.bias = nn.Parameter(torch.zeros(()))
        #: From z (row) to z (column) of the next token.
        self.steps = nn.Parameter(torch.zeros(2, 2))

    def energies(self, keys: Tensor, query: Tensor | None = None) -> Tensor:
        """For reading each token."""
        return self._asked(keys, query) + self.bias

    def _asked(self, keys: Tensor, query: Tensor | None) -> Tensor:
        """The share of the energies that is linear in the state."""
        return keys[..., 0] if query is None else (keys @ query[..., None])[..., 0] / self.scale

    def normalise(self, energies: Tensor, mask: Tensor) -> Tensor:
        """Marginals, divided by their sum: a softmax of their logarithms, so that none is too small to count."""
        return masked_softmax(log_marginals(energies, mask.expand(energies.shape), self.steps), mask)

    def replay(self, states: AnySignal, mask: Tensor, query: Tensor | None = None) -> AnySignal:
        """A product, a bias, the chain."""
        energies = states.linear(self.keys).map(lambda e: self._asked(e, query)).settled(self.bias.detach())
        return self.replayed_weights(energies, mask)


def log_marginals(
    energies: Float[Tensor, "*batch token"], mask: Bool[Tensor, "*batch token"], steps: Float[Tensor, "2 2"]
) -> Float[Tensor, "*batch token"]:
    """log p(z_t = 1) under p(z) ∝ exp(Σ_t u_t z_t + Σ steps[z_before, z_t]), over real tokens; others are left out.

    A token outside the mask is no part of the chain: those around it are neighbours. Products of all beginnings and of
    all ends of the chain come from log T steps, each joining every product with the one that many tokens before.
    """
    first = mask & (mask.cumsum(-1) == 1)
    own = torch.stack([torch.zeros_like(energies), energies], dim=-1)[..., None, :]
    # From no token before the first: only the row of z = 0 begins, and it steps freely.
    begin = torch.cat([own, own.new_full(own.shape, NEVER)], dim=-2)
    stay = own.new_full((2, 2), NEVER).fill_diagonal_(0.0)
    each = torch.where(first[..., None, None], begin, own + steps)
    each = torch.where(mask[..., None, None], each, stay)
    before = _products(each, ahead=True)[..., 0, :]
    after = _products(each, ahead=False).logsumexp(-1)
    after = torch.cat([after[..., 1:, :], torch.zeros_like(after[..., :1, :])], dim=-2)
    return (before + after).log_softmax(-1)[..., 1]


def _products(each: Float[Tensor, "*batch token 2 2"], *, ahead: bool) -> Float[Tensor, "*batch token 2 2"]:
    """The logarithm of M_1 … M_t for every t or, not ahead, of M_t … M_T, up to a number for each."""
    width, apart, found = each.shape[-3], 1, each
    while apart < width:
        early, late = found[..., : width - apart, :, :], found[..., apart:, :, :]
        joined = (early[..., :, :, None] + late[..., None, :, :]).logsumexp(-2)
        # Only ratios within a product count; without their scale, long texts lose no digits.
        joined = joined - joined.detach().amax((-2, -1), keepdim=True)
        kept = found[..., :apart, :, :] if ahead else found[..., width - apart :, :, :]
        found = torch.cat([kept, joined] if ahead else [joined, kept], dim=-3)
        apart *= 2
    return found

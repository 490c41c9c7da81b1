"""Attention: states (and, for pairs, a query) to weights over real tokens."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from attentest.errors import NotApplicable
from attentest.models.signals import AnySignal
from attentest.registry import Registry

__all__ = ["ATTENTIONS", "Additive", "Attention", "AttentionNetwork", "ScaledDot", "Uniform", "masked_softmax"]


def quick_tanh(x: Tensor) -> Tensor:
    """tanh to 2e-7 for use without gradients: the sigmoid is several times faster on CPU."""
    return (2 * x).sigmoid_().mul_(2).sub_(1)


def masked_softmax(
    energies: Float[Tensor, "*batch token"], mask: Bool[Tensor, "*#batch token"]
) -> Float[Tensor, "*batch token"]:
    """Softmax over real tokens; exactly zero elsewhere, also where there is no real token at all."""
    weights = energies.masked_fill(~mask, -math.inf).softmax(-1)
    return torch.where(mask, weights, 0.0)


class AttentionNetwork(nn.Module, ABC):
    """States to weights in two steps: keys, linear in the state, and then weights from keys and query."""

    #: The linear map from states to keys.
    keys: nn.Linear

    @abstractmethod
    def weigh(
        self,
        keys: Float[Tensor, "*batch token key"],
        mask: Bool[Tensor, "*batch token"],
        query: Float[Tensor, "*batch query"] | None = None,
    ) -> Float[Tensor, "*batch token"]:
        """Weights that are zero outside the mask and sum to one inside it."""

    def forward(
        self,
        states: Float[Tensor, "*batch token state"],
        mask: Bool[Tensor, "*batch token"],
        query: Float[Tensor, "*batch query"] | None = None,
    ) -> Float[Tensor, "*batch token"]:
        """Weights of the states."""
        return self.weigh(self.keys(states), mask, query)

    def replay(self, states: AnySignal, mask: Bool[Tensor, "batch token"]) -> AnySignal:
        """The weights again, as a signal: what lrp and deep_lift follow."""
        raise NotApplicable(f"Attention network {type(self).__name__} has no replay, which lrp and deep_lift need.")


class Attention(ABC):
    """A description of an attention."""

    name: ClassVar[str]

    @abstractmethod
    def build(self, size: int, query: int | None = None) -> AttentionNetwork:
        """The network, for states (and queries) of this size."""


@dataclass(frozen=True)
class Additive(Attention):
    """Bahdanau's: v·tanh(W h + b), W halving the state (Jain & Wallace)."""

    name: ClassVar[str] = "additive"

    def build(self, size: int, query: int | None = None) -> AttentionNetwork:
        """One hidden layer and a bias-free vector."""
        return AdditiveNetwork(size, query)


@dataclass(frozen=True)
class ScaledDot(Attention):
    """Scaled dot product with a learned query, or with the given one."""

    name: ClassVar[str] = "dot"

    def build(self, size: int, query: int | None = None) -> AttentionNetwork:
        """A query vector."""
        return ScaledDotNetwork(size, query)


@dataclass(frozen=True)
class Uniform(Attention):
    """Every real token weighs the same: attention switched off, in training too (Wiegreffe & Pinter)."""

    name: ClassVar[str] = "uniform"

    def build(self, size: int, query: int | None = None) -> AttentionNetwork:
        """Nothing to learn."""
        return UniformNetwork(size)


ATTENTIONS: Registry[Attention] = Registry("attention", {"additive": Additive, "dot": ScaledDot, "uniform": Uniform})


class AdditiveNetwork(AttentionNetwork):
    """v·tanh(W h + U q + b)."""

    def __init__(self, size: int, query: int | None) -> None:
        super().__init__()
        self.keys = nn.Linear(size, size // 2)
        self.of_query = None if query is None else nn.Linear(query, size // 2, bias=False)
        self.vector = nn.Linear(size // 2, 1, bias=False)

    def weigh(self, keys: Tensor, mask: Tensor, query: Tensor | None = None) -> Tensor:
        """Energies from a hidden layer."""
        if self.of_query is not None and query is not None:
            keys = keys + self.of_query(query)[..., None, :]
        layer = keys.tanh() if torch.is_grad_enabled() else quick_tanh(keys)
        return masked_softmax(self.vector(layer)[..., 0], mask)

    def replay(self, states: AnySignal, mask: Tensor) -> AnySignal:
        """A hidden layer, a vector, a softmax."""
        energies = states.linear(self.keys).activated(torch.tanh).linear(self.vector)
        return energies.map(lambda e: e[..., 0]).softmax(mask)


class ScaledDotNetwork(AttentionNetwork):
    """h·q / √m; the learned query of a single sequence is itself the map to a one-number key."""

    def __init__(self, size: int, query: int | None) -> None:
        super().__init__()
        self.scale = math.sqrt(size)
        self.keys = nn.Linear(size, 1 if query is None else query, bias=False)

    def weigh(self, keys: Tensor, mask: Tensor, query: Tensor | None = None) -> Tensor:
        """Energies from a product with the query."""
        energies = keys[..., 0] if query is None else (keys @ query[..., None])[..., 0]
        return masked_softmax(energies / self.scale, mask)

    def replay(self, states: AnySignal, mask: Tensor) -> AnySignal:
        """A product with the learned query, a softmax."""
        return states.linear(self.keys).map(lambda e: e[..., 0] / self.scale).softmax(mask)


class UniformNetwork(AttentionNetwork):
    """1/T."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.keys = nn.Linear(size, 1, bias=False).requires_grad_(False)

    def weigh(self, keys: Tensor, mask: Tensor, query: Tensor | None = None) -> Tensor:
        """The same weight for every real token."""
        mask = mask.expand(keys.shape[:-1])
        return masked_softmax(keys.new_zeros(mask.shape), mask)

    def replay(self, states: AnySignal, mask: Tensor) -> AnySignal:
        """The same, whatever the states."""
        return states.map(lambda s: 0 * s[..., 0]).softmax(mask)

"""Gates: random numbers from 0 (a word is not read) to 1 (it is), one for each word, each by itself."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

__all__ = ["Bernoulli", "Gates", "HardConcrete", "HardKumaraswamy", "transitions"]

#: Uniform draws stay so far from 0 and 1 that logarithms are finite in single precision.
EDGE = 1e-6


class Gates(ABC):
    """A distribution for the gate of every word."""

    @abstractmethod
    def above(self, value: float) -> Float[Tensor, "batch token"]:
        """P(gate > value), for a value of at least 0 and below 1."""

    @abstractmethod
    def drawn(self) -> Float[Tensor, "batch token"]:
        """A gate for every word, from torch's generator; where it can be, differentiable in what it was made of."""

    @property
    def kept(self) -> Float[Tensor, "batch token"]:
        """P(gate ≠ 0), which summed over words is the expected L0; where it is more than ½, the word is selected."""
        return self.above(0.0)


@dataclass(frozen=True)
class Bernoulli(Gates):
    """Zero or one; a draw has no gradient, and ``log_chance`` of it has."""

    logits: Float[Tensor, "batch token"]

    def above(self, value: float) -> Tensor:
        """P(gate = 1), whatever the value."""
        return self.logits.sigmoid()

    def drawn(self) -> Tensor:
        """Zeros and ones."""
        return (torch.rand_like(self.logits) < self.logits.sigmoid()).to(self.logits.dtype)

    def log_chance(self, gates: Float[Tensor, "batch token"]) -> Float[Tensor, "batch token"]:
        """log P of each of these gates."""
        return torch.where(gates > 0, self.logits, -self.logits).sigmoid().clamp(min=1e-30).log()


class Stretched(Gates):
    """A distribution on (0, 1), stretched to (low, high), which hold 0 and 1, and cut to [0, 1]."""

    low: float
    high: float

    @abstractmethod
    def tail(self, value: float) -> Float[Tensor, "batch token"]:
        """P(x > value) before it is stretched."""

    @abstractmethod
    def quantile(self, chance: Float[Tensor, "batch token"]) -> Float[Tensor, "batch token"]:
        """The x that has P(X > x) = chance, before it is stretched."""

    def above(self, value: float) -> Tensor:
        """The tail beyond where the value was before."""
        return self.tail((value - self.low) / (self.high - self.low))

    def drawn(self) -> Tensor:
        """By the inverse of the tail."""
        chance = torch.empty_like(self.tail(0.5)).uniform_(EDGE, 1 - EDGE)
        return (self.low + (self.high - self.low) * self.quantile(chance)).clamp(0, 1)


@dataclass(frozen=True)
class HardKumaraswamy(Stretched):
    """HardKuma (Bastings et al. 2019): Kumaraswamy(a, b), stretched and cut."""

    a: Float[Tensor, "batch token"]
    b: Float[Tensor, "batch token"]
    low: float = -0.1
    high: float = 1.1

    def tail(self, value: float) -> Tensor:
        """(1 − xᵃ)ᵇ."""
        return (self.b * torch.log1p(-torch.exp(self.a * math.log(value)))).exp()

    def quantile(self, chance: Tensor) -> Tensor:
        """(1 − u^(1/b))^(1/a)."""
        rest = -torch.expm1(chance.log() / self.b)
        return (rest.clamp(min=torch.finfo(rest.dtype).tiny).log() / self.a).exp()


@dataclass(frozen=True)
class HardConcrete(Stretched):
    """Louizos et al. 2018: a sigmoid of logistic noise, stretched and cut; limits and temperature are DiffMask's."""

    logits: Float[Tensor, "batch token"]
    temperature: float = 0.2
    low: float = -0.2
    high: float = 1.0 + 1e-3

    def tail(self, value: float) -> Tensor:
        """σ(log α − β logit x)."""
        return (self.logits - self.temperature * (math.log(value) - math.log1p(-value))).sigmoid()

    def quantile(self, chance: Tensor) -> Tensor:
        """σ((log α − logit u) / β)."""
        return ((self.logits - chance.logit()) / self.temperature).sigmoid()


def transitions(kept: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]) -> Float[Tensor, " batch"]:
    """The expected number of neighbours of which one gate is zero and the other is not; symbols count for nothing."""
    before, after = kept[:, :-1], kept[:, 1:]
    apart = before * (1 - after) + (1 - before) * after
    return (apart * (mask[:, :-1] & mask[:, 1:])).sum(-1)

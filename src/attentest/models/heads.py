"""Heads: the context to one logit per class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.errors import InputError, NotApplicable
from attentest.models.signals import AnySignal
from attentest.registry import Registry

__all__ = ["HEADS", "Head", "HeadNetwork", "OneSigmoid", "Softmax"]


class HeadNetwork(nn.Module, ABC):
    """Context to class logits; ``affine`` says whether logits(Σ α h) = Σ α logits(h) when Σ α = 1."""

    affine: ClassVar[bool]

    @abstractmethod
    def forward(
        self, context: Float[Tensor, "*batch state"], query: Float[Tensor, "*batch query"] | None = None
    ) -> Float[Tensor, "*batch class"]:
        """One logit per class."""

    def replay(self, context: AnySignal) -> AnySignal:
        """The logits again, as a signal: what lrp and deep_lift follow."""
        raise NotApplicable(f"Head network {type(self).__name__} has no replay, which lrp and deep_lift need.")


class Head(ABC):
    """A description of a head."""

    name: ClassVar[str]

    @abstractmethod
    def build(self, size: int, classes: int) -> HeadNetwork:
        """The network, for contexts of this size."""


@dataclass(frozen=True)
class OneSigmoid(Head):
    """One output and a sigmoid, for two classes (Jain & Wallace)."""

    name: ClassVar[str] = "sigmoid"

    def build(self, size: int, classes: int) -> HeadNetwork:
        """One row of weights."""
        if classes != 2:
            raise InputError(f"Head 'sigmoid' is for 2 classes, not {classes}. Use --head softmax.")
        return OneSigmoidNetwork(size)


@dataclass(frozen=True)
class Softmax(Head):
    """One output per class and a softmax."""

    name: ClassVar[str] = "softmax"

    def build(self, size: int, classes: int) -> HeadNetwork:
        """One row of weights per class."""
        return SoftmaxNetwork(size, classes)


HEADS: Registry[Head] = Registry("head", {"sigmoid": OneSigmoid, "softmax": Softmax})


class OneSigmoidNetwork(HeadNetwork):
    """The logits (0, z): their softmax is (1−σ(z), σ(z))."""

    affine = True

    def __init__(self, size: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, 1)

    def forward(self, context: Tensor, query: Tensor | None = None) -> Tensor:
        """Zero for the negative class, z for the positive one."""
        z = self.linear(context)
        return torch.cat([torch.zeros_like(z), z], dim=-1)

    def replay(self, context: AnySignal) -> AnySignal:
        """Zero and z."""
        return context.linear(self.linear).map(lambda z: torch.cat([torch.zeros_like(z), z], dim=-1))


class SoftmaxNetwork(HeadNetwork):
    """W c + b."""

    affine = True

    def __init__(self, size: int, classes: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, classes)

    def forward(self, context: Tensor, query: Tensor | None = None) -> Tensor:
        """One affine map."""
        logits: Tensor = self.linear(context)
        return logits

    def replay(self, context: AnySignal) -> AnySignal:
        """The same map."""
        return context.linear(self.linear)

"""Heads: the context to one logit per class."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.errors import InputError, NotApplicable
from attentest.models.networks.signals import AnySignal
from attentest.registry import Registry, classes_below

__all__ = ["HEADS", "Head", "HeadNetwork", "Joint", "JointTanh", "OneSigmoid", "Softmax"]


class HeadNetwork(nn.Module, ABC):
    """Context to class logits; ``affine`` says whether logits(Σ α h) = Σ α logits(h) when Σ α = 1."""

    affine: ClassVar[bool]

    @abstractmethod
    def forward(
        self, context: Float[Tensor, "*batch state"], query: Float[Tensor, "*#batch query"] | None = None
    ) -> Float[Tensor, "*batch class"]:
        """One logit per class."""

    def replay(self, context: AnySignal, query: Float[Tensor, "batch query"] | None = None) -> AnySignal:
        """The logits again, as a signal: what lrp and deep_lift follow."""
        raise NotApplicable(f"Head network {type(self).__name__} has no replay, which lrp and deep_lift need.")


class Head(ABC):
    """A description of a head."""

    name: ClassVar[str]
    #: Whether it sees the query beside the context: then it is for pairs of texts alone.
    sees_query: ClassVar[bool] = False

    @abstractmethod
    def build(self, size: int, classes: int, query: int | None = None) -> HeadNetwork:
        """The network, for contexts (and queries) of this size."""


@dataclass(frozen=True)
class OneSigmoid(Head):
    r"""One output and a sigmoid, for two classes (Jain & Wallace).

    The default for two classes. Its logits are shown as $(0, z)$, whose softmax is $(1-\sigma(z), \sigma(z))$.
    """

    name: ClassVar[str] = "sigmoid"

    def build(self, size: int, classes: int, query: int | None = None) -> HeadNetwork:
        """One row of weights."""
        if classes != 2:
            raise InputError(f"Head 'sigmoid' is for 2 classes, not {classes}. Use --head softmax.")
        return OneSigmoidNetwork(size)


@dataclass(frozen=True)
class Softmax(Head):
    """One output per class and a softmax; of a pair it sees the context alone (Vashishth et al.).

    The default for more than two classes. Of a pair it sees nothing but the weighted first text, as in Vashishth et
    al. (2019): the second text reaches the output through the weights alone, and under uniform ones not at all.
    Compare with `joint` before you say that a model needs its attention.
    """

    name: ClassVar[str] = "softmax"

    def build(self, size: int, classes: int, query: int | None = None) -> HeadNetwork:
        """One row of weights per class."""
        return SoftmaxNetwork(size, classes)


@dataclass(frozen=True)
class Joint(Head):
    """W c + U q + b: sees the query beside the context, and stays affine in the context, so exact results hold.

    For pairs, the default: $W c + U q + b$ with the context $c$ and the second text's state $q$. It sees the second
    text with or without attention, and is affine in the context, so that what is exact stays exact.
    """

    name: ClassVar[str] = "joint"
    sees_query: ClassVar[bool] = True

    def build(self, size: int, classes: int, query: int | None = None) -> HeadNetwork:
        """One row of weights per class for the context, one for the query."""
        return JointNetwork(size, classes, _asked(self, query))


@dataclass(frozen=True)
class JointTanh(Head):
    r"""W₂·tanh(W_p c + W_q q), the hidden layer half as wide as the context (Jain & Wallace's for pairs).

    For pairs, as Jain & Wallace had it: $W_2 \tanh(W_p c + W_q q)$. It is not affine in the context, so adversaries
    are searched for, not proved.
    """

    name: ClassVar[str] = "joint_tanh"
    sees_query: ClassVar[bool] = True

    def build(self, size: int, classes: int, query: int | None = None) -> HeadNetwork:
        """Two layers."""
        return JointTanhNetwork(size, classes, _asked(self, query))


def _asked(head: Head, query: int | None) -> int:
    if query is None:
        raise InputError(f"Head {head.name!r} sees a second text, and there is none: use sigmoid or softmax.")
    return query


HEADS: Registry[Head] = Registry("head", partial(classes_below, "attentest.models.parts", Head))


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

    def replay(self, context: AnySignal, query: Tensor | None = None) -> AnySignal:
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

    def replay(self, context: AnySignal, query: Tensor | None = None) -> AnySignal:
        """The same map."""
        return context.linear(self.linear)


class JointNetwork(HeadNetwork):
    """W c + U q + b; without a query, W c + b."""

    affine = True

    def __init__(self, size: int, classes: int, query: int) -> None:
        super().__init__()
        self.linear = nn.Linear(size, classes)
        self.of_query = nn.Linear(query, classes, bias=False)

    def forward(self, context: Tensor, query: Tensor | None = None) -> Tensor:
        """Two affine maps, added."""
        logits: Tensor = self.linear(context)
        return logits if query is None else logits + self.of_query(query)

    def replay(self, context: AnySignal, query: Tensor | None = None) -> AnySignal:
        """The same, what the query adds being a bias."""
        weight, bias = self.linear.weight.detach(), self.linear.bias.detach()
        given = bias if query is None else bias + self.of_query(query)
        return context.map(lambda c: c @ weight.T).settled(given)


class JointTanhNetwork(HeadNetwork):
    """W₂·tanh(W_p c + W_q q + b) + b₂."""

    affine = False

    def __init__(self, size: int, classes: int, query: int) -> None:
        super().__init__()
        hidden = max(1, size // 2)
        self.of_context = nn.Linear(size, hidden)
        self.of_query = nn.Linear(query, hidden)
        self.linear = nn.Linear(hidden, classes)

    def forward(self, context: Tensor, query: Tensor | None = None) -> Tensor:
        """A hidden layer of both."""
        layer = self.of_context(context)
        logits: Tensor = self.linear((layer if query is None else layer + self.of_query(query)).tanh())
        return logits

    def replay(self, context: AnySignal, query: Tensor | None = None) -> AnySignal:
        """The same, what the query adds being a bias."""
        weight, bias = self.of_context.weight.detach(), self.of_context.bias.detach()
        given = bias if query is None else bias + self.of_query(query)
        return context.map(lambda c: c @ weight.T).settled(given).activated(torch.tanh).linear(self.linear)

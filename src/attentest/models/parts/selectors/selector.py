"""What a selector is: a frozen description, and the network that says which words a predictor reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.models.parts.encoder import EncoderNetwork
from attentest.models.parts.selectors.gates import Gates
from attentest.parameters import Checked

__all__ = ["Multiplier", "Selector", "SelectorNetwork", "shares"]


class SelectorNetwork(nn.Module, ABC):
    """Embeddings to gates, with an encoder of its own; and what training asks of them."""

    encoder: EncoderNetwork

    @abstractmethod
    def gates(self, states: Float[Tensor, "batch token state"], lengths: Int[Tensor, " batch"]) -> Gates:
        """A gate for every position; what stands beyond the lengths does not matter."""

    @abstractmethod
    def loss(
        self,
        gates: Gates,
        drawn: Float[Tensor, "batch token"],
        mask: Bool[Tensor, "batch token"],
        task: Float[Tensor, " batch"],
        labels: Int[Tensor, " batch"],
    ) -> Float[Tensor, ""]:
        """What is added to the loss of the task, ``task`` for every text, summed over the texts."""

    def forward(self, embeddings: Float[Tensor, "batch token embedding"], lengths: Int[Tensor, " batch"]) -> Gates:
        """The gates of texts."""
        return self.gates(self.encoder(embeddings, lengths), lengths)


class Selector(Checked, ABC):
    """A description of a selector."""

    name: ClassVar[str]
    reference: ClassVar[str]

    @property
    def most(self) -> float:
        """The share of words that training asks for, at most, on average; epochs that select more are not chosen."""
        return 1.0

    @abstractmethod
    def build(self, encoder: EncoderNetwork) -> SelectorNetwork:
        """The network, around an encoder of its own."""


class Multiplier(nn.Module):
    """λ of a constraint: it rises while what is constrained is too large, and falls, below zero too, while too small.

    An augmented Lagrangian: λ c + μ c² / 2 is added for an excess of c, and λ grows by a step of c. Bastings et al.
    2019 multiply λ by exp(c / 100), for tens of thousands of batches; here there are hundreds, and gates that all close
    at once, before the predictor has learnt anything, never open again.
    """

    MOST = 100.0
    value: Tensor

    def __init__(self, *, start: float = 0.0, step: float = 0.01, damping: float = 2.0, least: float = -MOST) -> None:
        super().__init__()
        self.step, self.damping, self.least = step, damping, least
        self.register_buffer("value", torch.tensor(start))

    def forward(self, excess: Float[Tensor, ""]) -> Float[Tensor, ""]:
        """What the excess costs; in training λ is set for the next batch."""
        charged = self.value.clone() * excess + self.damping * excess.square() / 2
        if self.training:
            with torch.no_grad():
                self.value.add_(self.step * excess.detach()).clamp_(self.least, self.MOST)
        return charged


def shares(values: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]) -> Float[Tensor, " batch"]:
    """The mean of the values over the words of every text."""
    return (values * mask).sum(-1) / mask.sum(-1).clamp(min=1)

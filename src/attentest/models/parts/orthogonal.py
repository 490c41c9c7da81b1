"""The orthogonal LSTM of Mohankumar et al. (2020): no state repeats what the states before it say together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.models.networks.signals import AnySignal
from attentest.models.parts.encoder import Encoder, EncoderNetwork
from attentest.models.parts.lstm import last_states, replayed
from attentest.parameters import Within

__all__ = ["OrthogonalLSTM", "OrthogonalNetwork"]


@dataclass(frozen=True)
class OrthogonalLSTM(Encoder):
    """LSTM in one direction whose states are orthogonal to the mean of those before them (Mohankumar et al. 2020).

    States of a usual LSTM are much alike, so that attention has little to choose from. Here every state loses what it
    shares with the mean of the earlier ones, and goes on into the recurrence like that.
    """

    name: ClassVar[str] = "orthogonal_lstm"
    hidden: Annotated[int, "Numbers in a state.", Within(1, 65_536)] = 128

    def build(self, embedding: int) -> EncoderNetwork:
        """One LSTM and a projection at every step."""
        return OrthogonalNetwork(embedding, self.hidden)


class OrthogonalNetwork(EncoderNetwork):
    """h = ĥ − (ĥ·s)/(s·s) s, where ĥ is the LSTM's output and s the sum of the states before.

    The projection on the sum is the projection on the mean.
    """

    def __init__(self, embedding: int, hidden: int) -> None:
        super().__init__()
        self.size = hidden
        self.rightward = nn.LSTM(embedding, hidden, batch_first=True)

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """The input is projected once for all positions; what stands behind the end changes nothing before it."""
        names = self.rightward._flat_weights_names
        into, recurrent, *biases = (_gates_first(getattr(self.rightward, name)) for name in names)
        inputs = nn.functional.linear(embeddings.transpose(0, 1), into, torch.stack(biases).sum(0))
        h = c = before = inputs.new_zeros(len(embeddings), self.size)
        back, states = recurrent.T, []
        for now in inputs.unbind(0):
            gates, new = torch.addmm(now, h, back).split([3 * self.size, self.size], dim=-1)
            into_cell, forget, out = gates.sigmoid().chunk(3, dim=-1)
            c = torch.addcmul(forget * c, into_cell, new.tanh())
            h = _orthogonal(out * c.tanh(), before)
            before = before + h
            states.append(h)
        return torch.stack(states, dim=1)

    def summary(self, states: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        """The last state."""
        return last_states(states, lengths)

    def replay(self, embeddings: AnySignal, lengths: Tensor) -> AnySignal:
        """Step by step; the direction that a state loses is a gate."""
        return replayed(self.rightward, embeddings, _replayed)


def _gates_first(weights: Tensor) -> Tensor:
    """In, forget, out, cell: the gates side by side, so that one sigmoid serves all."""
    into, forget, cell, out = weights.chunk(4)
    return torch.cat([into, forget, out, cell])


def _orthogonal(
    states: Float[Tensor, "batch hidden"], before: Float[Tensor, "batch hidden"]
) -> Float[Tensor, "batch hidden"]:
    """The states without what lies along ``before``.

    That is zero at the first position. Later it is not: the squared length of a sum of such states never falls.
    """
    along, squared = _dot(states, before), _dot(before, before)
    return torch.addcmul(states, along * _inverse(squared), before, value=-1.0)


def _replayed(states: AnySignal, before: AnySignal) -> AnySignal:
    """The same as a signal."""
    squared = before.gated(before, _dot)
    inverse = squared.gate(torch.zeros(()), _inverse)
    along = states.gated(before, _dot).gated(inverse)
    return (states + along.gated(before).map(torch.neg)).settled()


def _dot(one: Tensor, other: Tensor) -> Float[Tensor, "batch 1"]:
    return (one * other).sum(-1, keepdim=True)


def _inverse(squared: Tensor) -> Tensor:
    """1/(v·v), kept finite where there is no direction to speak of."""
    return squared.clamp(min=torch.finfo(squared.dtype).eps ** 2).reciprocal()

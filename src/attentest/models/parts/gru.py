"""The bidirectional GRU, Serrano & Smith's recurrent encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn

from attentest.models.networks.signals import AnySignal
from attentest.models.parts.bidirectional import BidirectionalNetwork, Passage
from attentest.models.parts.encoder import Encoder, EncoderNetwork
from attentest.models.parts.stacked import StackedNetwork
from attentest.models.products import linear
from attentest.parameters import Within

__all__ = ["BiGRU", "BiGRUNetwork"]


@dataclass(frozen=True)
class BiGRU(Encoder):
    """Bidirectional GRU (Serrano & Smith: 50 units in each direction).

    Like `bilstm`, every state has read the whole text from both ends, with gated recurrent units in place of LSTMs:
    Serrano & Smith's recurrent encoder.
    """

    name: ClassVar[str] = "bigru"
    hidden: Annotated[int, "Numbers in a state, per direction; a state has twice as many.", Within(1, 65_536)] = 50
    layers: Annotated[
        int, "Bidirectional layers, one on the other; each reads both directions of the one below.", Within(1, 64)
    ] = 1

    def build(self, embedding: int) -> EncoderNetwork:
        """Two GRUs for each layer, one on reversed input."""
        layers = [BiGRUNetwork(size, self.hidden) for size in (embedding, *[2 * self.hidden] * (self.layers - 1))]
        return layers[0] if self.layers == 1 else StackedNetwork(layers)


class BiGRUNetwork(BidirectionalNetwork):
    """A pair of GRUs: h = (1 − z)·tanh(W x + r·(U h + b)) + z·h, where r and z are gates."""

    def __init__(self, embedding: int, hidden: int) -> None:
        super().__init__()
        self.size = 2 * hidden
        self.rightward = nn.GRU(embedding, hidden, batch_first=True)
        self.leftward = nn.GRU(embedding, hidden, batch_first=True)

    def passage(self, side: nn.RNNBase, embeddings: Tensor) -> Passage:
        """Of states."""
        into, recurrent, bias, recurrent_bias = (getattr(side, name).detach() for name in side._flat_weights_names)
        inputs = linear(embeddings.transpose(0, 1), into, bias)

        def step(projected: Tensor, h: Tensor) -> None:
            h.copy_(_step(projected, h, recurrent, recurrent_bias))

        states = side(embeddings)[0].detach().transpose(0, 1)
        return Passage(inputs, step, (nn.functional.pad(states, (0, 0, 0, 0, 1, 0)),))

    def replayed(self, side: nn.RNNBase, embeddings: AnySignal) -> AnySignal:
        """The states of one direction; r multiplies what the state adds to the new content."""
        size = side.hidden_size
        into, recurrent, bias, recurrent_bias = (getattr(side, name).detach() for name in side._flat_weights_names)
        gates, new = slice(0, 2 * size), slice(2 * size, 3 * size)
        gates_bias = bias[gates] + recurrent_bias[gates]
        to_gates = embeddings.map(lambda x: x @ into[gates].T).apart(lambda x: x.unbind(1))
        to_new = embeddings.map(lambda x: x @ into[new].T).apart(lambda x: x.unbind(1))
        h = embeddings.map(lambda x: x.new_zeros(len(x), size))
        states = []
        for x_gates, x_new in zip(to_gates, to_new, strict=True):
            summed = x_gates + h.map(lambda s: s @ recurrent[gates].T)
            reset, keep = summed.gate(gates_bias, torch.sigmoid).apart(lambda gate: gate.chunk(2, dim=-1))
            # 1 − σ(x) = σ(−x)
            change = summed.map(lambda x: -x[:, size:]).gate(-gates_bias[size:], torch.sigmoid)
            old = h.map(lambda s: s @ recurrent[new].T).settled(recurrent_bias[new]).gated(reset)
            content = (x_new + old).settled(bias[new]).activated(torch.tanh)
            h = (content.gated(change) + h.gated(keep)).settled()
            states.append(h)
        return states[0].joined(states[1:], lambda all_: torch.stack(all_, dim=1))


def _step(inputs: Tensor, h: Tensor, recurrent: Tensor, bias: Tensor) -> Tensor:
    """The next states of many rows; ``inputs`` is the input's share of gates and content."""
    x_gates, x_new = inputs.split([2 * h.shape[-1], h.shape[-1]], dim=-1)
    h_gates, h_new = linear(h, recurrent, bias).split([2 * h.shape[-1], h.shape[-1]], dim=-1)
    reset, keep = (h_gates + x_gates).sigmoid_().chunk(2, dim=-1)
    new = torch.addcmul(x_new, reset, h_new).tanh_()
    return torch.lerp(new, h, keep)

"""LSTM encoders, from both ends or one, and the step that shared work is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.networks.signals import AnySignal
from attentest.models.parts.bidirectional import BidirectionalNetwork, Passage
from attentest.models.parts.encoder import Encoder, EncoderNetwork
from attentest.models.parts.fused import lstm as fused
from attentest.models.parts.stacked import SKIPS, SkipNetwork, StackedNetwork
from attentest.models.products import linear
from attentest.parameters import Within

__all__ = ["LSTM", "BiLSTM", "BiLSTMNetwork", "Cell", "LSTMNetwork", "last_states", "passage", "replayed"]


@dataclass(frozen=True)
class BiLSTM(Encoder):
    """Bidirectional LSTM.

    Every state has read the whole text, from both ends. The usual model of the debate, and the one whose states may
    be far from the tokens below them.
    """

    name: ClassVar[str] = "bilstm"
    hidden: Annotated[int, "Numbers in a state, per direction; a state has twice as many.", Within(1, 65_536)] = 128
    layers: Annotated[
        int, "Bidirectional layers, one on the other; each reads both directions of the one below.", Within(1, 64)
    ] = 1
    skip: Annotated[
        str,
        "How a word's embedding joins its state (Tutek & Šnajder 2020): `none`, `concat` (put beside it) or "
        "`residual` (added to it, which needs embeddings of twice `hidden` numbers).",
    ] = "none"

    @property
    def plain(self) -> bool:
        """Whether it is one layer and nothing else."""
        return self.layers == 1 and self.skip == "none"

    def build(self, embedding: int) -> EncoderNetwork:
        """Two LSTMs for each layer, one on reversed input."""
        if self.skip not in ("none", *SKIPS):
            raise InputError(f"Encoder {self.name!r}: skip={self.skip!r} must be none, {' or '.join(SKIPS)}.")
        if self.skip == "residual" and embedding != 2 * self.hidden:
            raise InputError(
                f"Encoder {self.name!r}: skip='residual' adds embeddings of {embedding} numbers to states of "
                f"{2 * self.hidden} (2·hidden), and the two must be the same: {_same_sizes(embedding)}, "
                "or use skip='concat'."
            )
        sizes = (embedding, *[2 * self.hidden] * (self.layers - 1))
        layers = [BiLSTMNetwork(size, self.hidden) for size in sizes]
        network = layers[0] if self.layers == 1 else StackedNetwork(layers)
        return network if self.skip == "none" else SkipNetwork(network, embedding, self.skip)


def _same_sizes(embedding: int) -> str:
    """What to choose so that states and embeddings are of one size."""
    return f"use hidden={embedding // 2}" if embedding % 2 == 0 else "use embeddings of 2·hidden numbers"


@dataclass(frozen=True)
class LSTM(Encoder):
    """LSTM in one direction.

    Every state has read its own token and those before it. With half the weights of `bilstm`, it is what
    `orthogonal_lstm` is to be compared with.
    """

    name: ClassVar[str] = "lstm"
    hidden: Annotated[int, "Numbers in a state.", Within(1, 65_536)] = 128

    def build(self, embedding: int) -> EncoderNetwork:
        """One LSTM."""
        return LSTMNetwork(embedding, self.hidden)


class BiLSTMNetwork(BidirectionalNetwork):
    """A pair of LSTMs."""

    rightward: nn.LSTM
    leftward: nn.LSTM

    def __init__(self, embedding: int, hidden: int) -> None:
        super().__init__()
        self.size = 2 * hidden
        self.rightward = nn.LSTM(embedding, hidden, batch_first=True)
        self.leftward = nn.LSTM(embedding, hidden, batch_first=True)

    def passage(self, side: nn.RNNBase, embeddings: Tensor) -> Passage:
        """Of states and cells."""
        assert isinstance(side, nn.LSTM)
        return passage(side, embeddings)

    def replayed(self, side: nn.RNNBase, embeddings: AnySignal) -> AnySignal:
        """Of states and cells."""
        return replayed(side, embeddings)


class LSTMNetwork(EncoderNetwork):
    """One LSTM, from the first token to the last."""

    def __init__(self, embedding: int, hidden: int) -> None:
        super().__init__()
        self.size = hidden
        self.rightward = nn.LSTM(embedding, hidden, batch_first=True)

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """What stands behind the end is read last, and changes nothing before it."""
        if fused.suits(self.rightward, embeddings):
            return fused.states((self.rightward,), (embeddings,))[0]
        states: Tensor = self.rightward(embeddings)[0]
        return states

    def summary(self, states: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        """The last state."""
        return last_states(states, lengths)

    def without_each(self, embeddings: Tensor, lengths: Tensor, onto: Tensor, plus: Tensor) -> Tensor:
        """Deletion d changes states after d, and only those."""
        through = passage(self.rightward, embeddings)
        out = linear(through.states.transpose(0, 1), onto.T, plus).repeat(embeddings.shape[1], 1, 1, 1)
        for s, first, changed in through.without_each():
            out[first:s, :, s] = linear(changed, onto.T, plus)
        return out.transpose(0, 1)

    def replay(self, embeddings: AnySignal, lengths: Tensor) -> AnySignal:
        """Step by step."""
        return replayed(self.rightward, embeddings)


def last_states(
    states: Float[Tensor, "batch token state"], lengths: Int[Tensor, " batch"]
) -> Float[Tensor, "batch state"]:
    """The state of every text's last position."""
    return states[torch.arange(len(lengths), device=lengths.device), lengths - 1]


def replayed(
    lstm: nn.RNNBase, embeddings: AnySignal, beside: Callable[[AnySignal, AnySignal], AnySignal] | None = None
) -> AnySignal:
    """The states of a one-directional LSTM: c = f·c + i·g and h = o·tanh c, where f, i and o are gates.

    ``beside`` makes the state of what comes out of this and the sum of the states before.
    """
    size = lstm.hidden_size
    into, recurrent, *biases = (getattr(lstm, name).detach() for name in lstm._flat_weights_names)
    rows = torch.arange(4 * size, device=into.device).view(4, size)
    gates, cell = rows[[0, 1, 3]].flatten(), rows[2]
    into_gates, into_cell, gates_from, cell_from = into[gates].T, into[cell].T, recurrent[gates].T, recurrent[cell].T
    gates_bias, cell_bias = sum(biases)[gates], sum(biases)[cell]
    to_gates = embeddings.map(lambda x: x @ into_gates).apart(lambda x: x.unbind(1))
    to_cell = embeddings.map(lambda x: x @ into_cell).apart(lambda x: x.unbind(1))
    h = c = embeddings.map(lambda x: x.new_zeros(len(x), size))
    states: list[AnySignal] = []
    before: AnySignal | None = None
    for x_gates, x_cell in zip(to_gates, to_cell, strict=True):
        i, f, o = (
            (x_gates + h.map(lambda s: s @ gates_from))
            .gate(gates_bias, torch.sigmoid)
            .apart(lambda gate: gate.chunk(3, dim=-1))
        )
        g = (x_cell + h.map(lambda s: s @ cell_from)).settled(cell_bias).activated(torch.tanh)
        c = (c.gated(f) + g.gated(i)).settled()
        h = c.activated(torch.tanh).gated(o)
        if beside is not None:
            h = h if before is None else beside(h, before)
            before = h if before is None else before + h
        states.append(h)
    return states[0].joined(states[1:], lambda all_: torch.stack(all_, dim=1))


def passage(lstm: nn.LSTM, embeddings: Float[Tensor, "batch token embedding"]) -> Passage:
    """A one-directional LSTM's; the input is projected once for all that follows.

    The library says the states; from these come all gates at once, and from the gates the cells.
    """
    cell = Cell(lstm)
    inputs = cell.project(embeddings.transpose(0, 1))
    h = nn.functional.pad(lstm(embeddings)[0].detach().transpose(0, 1), (0, 0, 0, 0, 1, 0))
    into, forget, _, new = linear(h[:-1], cell.recurrent.T).add_(inputs).sigmoid_().chunk(4, dim=-1)
    adding = torch.addcmul(-into, into, new, value=2.0)
    c = torch.zeros_like(h)
    for s in range(len(inputs)):
        torch.addcmul(adding[s], forget[s], c[s], out=c[s + 1])
    return Passage(inputs, cell.step, (h, c))


class Cell:
    """One LSTM step in place on many rows: a product and a single sigmoid.

    Gates are put in the order in, forget, out, cell, the last doubled, because tanh(x) = 2σ(2x) − 1.
    """

    def __init__(self, lstm: nn.LSTM) -> None:
        into, recurrent, *biases = (getattr(lstm, name).detach() for name in lstm._flat_weights_names)
        size = lstm.hidden_size
        order = torch.arange(4 * size, device=into.device).view(4, size)[[0, 1, 3, 2]].flatten()
        scale = into.new_ones(4 * size)
        scale[3 * size :] = 2.0
        self.into, self.recurrent = ((w[order] * scale[:, None]).T.contiguous() for w in (into, recurrent))
        self.bias = sum(biases)[order] * scale

    def project(self, embeddings: Tensor) -> Tensor:
        """The input's share of the gates."""
        return linear(embeddings, self.into.T, self.bias)

    def step(self, projected: Tensor, h: Tensor, c: Tensor) -> None:
        """Advance h and c, [rows, batch, hidden], by one position."""
        gates = linear(h, self.recurrent.T).add_(projected).sigmoid_()
        into, forget, out, cell = gates.chunk(4, dim=-1)
        c.mul_(forget).addcmul_(into, cell, value=2.0).sub_(into)
        torch.mul(c, 2.0, out=h)
        h.sigmoid_().mul_(2.0).sub_(1.0).mul_(out)

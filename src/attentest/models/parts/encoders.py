"""Encoders: embeddings to one state per position, as in Jain & Wallace (2019), section 3, and Serrano & Smith (2019).

Each is a frozen description that builds its network. A network also knows how to encode the sequence
without each of its tokens while sharing the work: deleting one token leaves every state before it
(recurrent, forward), after it (backward) or far from it (convolution) as it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.networks.signals import AnySignal
from attentest.models.parts.encoder import Encoder, EncoderNetwork
from attentest.models.parts.gru import BiGRU
from attentest.models.parts.lstm import LSTM, BiLSTM
from attentest.models.parts.orthogonal import OrthogonalLSTM
from attentest.parameters import Several, Within
from attentest.registry import Registry, classes_below

__all__ = [
    "ENCODERS",
    "LSTM",
    "Average",
    "BiGRU",
    "BiLSTM",
    "Convolution",
    "Encoder",
    "EncoderNetwork",
    "NoEncoder",
    "OrthogonalLSTM",
]


@dataclass(frozen=True)
class Convolution(Encoder):
    """Convolutions of several widths, ReLU (the paper has 64 filters of each width, its code 32).

    Every state has read its own token and its near neighbours: three to each side with the default widths.
    """

    name: ClassVar[str] = "convolution"
    filters: Annotated[int, "Filters of each width.", Within(1, 65_536)] = 64
    widths: Annotated[
        tuple[int, ...],
        "Widths of the windows, in tokens; odd, so that state *t* stands over token *t*.",
        Several(),
        Within(1, 1001),
    ] = (1, 3, 5, 7)

    def build(self, embedding: int) -> EncoderNetwork:
        """One convolution per width."""
        if any(width % 2 == 0 for width in self.widths):
            raise InputError(f"Convolution widths {self.widths} must be odd, so that state t stands over token t.")
        return ConvolutionNetwork(embedding, self.filters, self.widths)


@dataclass(frozen=True)
class Average(Encoder):
    """A linear layer on every token by itself, no context (paper: 256 and ReLU; its code: 128 and tanh).

    Every state has read its own token and nothing else, so erasing a state and deleting its token are the same. A
    control: with it, what attention says of states it says of tokens.
    """

    name: ClassVar[str] = "average"
    hidden: Annotated[int, "Numbers in a state.", Within(1, 65_536)] = 256
    activation: Annotated[str, "`relu` (the paper's text) or `tanh` (its released code)."] = "relu"

    def build(self, embedding: int) -> EncoderNetwork:
        """One linear layer."""
        if self.activation not in ("relu", "tanh"):
            raise InputError(f"Encoder 'average': activation={self.activation!r} must be 'relu' or 'tanh'.")
        return AverageNetwork(embedding, self.hidden, self.activation)


@dataclass(frozen=True)
class NoEncoder(Encoder):
    """No encoder: attention weighs the embeddings themselves (Serrano & Smith).

    No encoder: attention weighs the word embeddings themselves, and nothing lies between a weight and its token. In
    a hierarchical model the sentences are not encoded either.
    """

    name: ClassVar[str] = "none"

    def build(self, embedding: int) -> EncoderNetwork:
        """Nothing to learn."""
        return IdentityNetwork(embedding)


ENCODERS: Registry[Encoder] = Registry("encoder", partial(classes_below, "attentest.models.parts", Encoder))


class ConvolutionNetwork(EncoderNetwork):
    """Convolutions of several odd widths over the token axis, zero-padded, concatenated, ReLU."""

    def __init__(self, embedding: int, filters: int, widths: tuple[int, ...]) -> None:
        super().__init__()
        self.size = filters * len(widths)
        self.reach = max(widths) // 2
        self.layers = nn.ModuleList(nn.Conv1d(embedding, filters, w, padding=w // 2) for w in widths)

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """States from each token's neighbourhood; beyond the end there is nothing."""
        inside = torch.arange(embeddings.shape[1], device=lengths.device)[None, :] < lengths[:, None]
        x = (embeddings * inside[..., None]).transpose(1, 2)
        return torch.cat([layer(x) for layer in self.layers], dim=1).relu().transpose(1, 2)

    def without_each(self, embeddings: Tensor, lengths: Tensor, onto: Tensor, plus: Tensor) -> Tensor:
        """Only states within reach of the gap change: encode a window around every gap."""
        batch, width, size = embeddings.shape
        reach, device = self.reach, embeddings.device
        inside = torch.arange(width, device=device)[None, :] < lengths[:, None]
        padded = nn.functional.pad(embeddings * inside[..., None], (0, 0, 2 * reach, 2 * reach))
        # The window around gap d: 2·reach tokens before it and 2·reach after it, d itself left out.
        steps = torch.cat([torch.arange(2 * reach), torch.arange(2 * reach + 1, 4 * reach + 1)]).to(device)
        index = torch.arange(width, device=device)[:, None] + steps[None, :]
        windows = padded[:, index].reshape(batch * width, 4 * reach, size).transpose(1, 2)
        fresh = torch.cat([layer(windows) for layer in self.layers], dim=1).relu().transpose(1, 2)
        fresh = (fresh[:, reach : 3 * reach] @ onto + plus).reshape(batch, width, 2 * reach, -1)
        states: Tensor = self(embeddings, lengths)
        out = (states @ onto + plus)[:, None].repeat(1, width, 1, 1)
        near = torch.cat([torch.arange(-reach, 0), torch.arange(1, reach + 1)]).to(device)
        place = torch.arange(width, device=device)[:, None] + near
        gap, slot = ((place >= 0) & (place < width)).nonzero(as_tuple=True)
        out[:, gap, place[gap, slot]] = fresh[:, gap, slot]
        return out

    def replay(self, embeddings: AnySignal, lengths: Tensor) -> AnySignal:
        """Each width's convolution, and ReLU."""

        def within(x: Tensor) -> Tensor:
            inside = torch.arange(x.shape[1], device=lengths.device)[None, :] < lengths[:, None]
            return (x * inside[..., None]).transpose(1, 2)

        x = embeddings.map(within)
        first, *others = (_convolved(layer, x) for layer in self.layers)
        return first.joined(others, lambda all_: torch.cat(all_, dim=1)).activated(torch.relu).map(lambda s: s.mT)


def _convolved(layer: nn.Module, x: AnySignal) -> AnySignal:
    assert isinstance(layer, nn.Conv1d)
    assert layer.bias is not None
    weight, padding = layer.weight.detach(), layer.padding
    return x.map(lambda v: nn.functional.conv1d(v, weight, padding=padding)).settled(layer.bias.detach()[:, None])


class AverageNetwork(EncoderNetwork):
    """One linear layer and an activation, token by token."""

    def __init__(self, embedding: int, hidden: int, activation: str) -> None:
        super().__init__()
        self.size = hidden
        self.linear = nn.Linear(embedding, hidden)
        self.activation = {"relu": torch.relu, "tanh": torch.tanh}[activation]

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """No state knows of any other token."""
        states: Tensor = self.activation(self.linear(embeddings))
        return states

    def without_each(self, embeddings: Tensor, lengths: Tensor, onto: Tensor, plus: Tensor) -> Tensor:
        """Deleting a token changes no other state."""
        states: Tensor = self(embeddings, lengths) @ onto + plus
        return states[:, None].expand(-1, states.shape[1], -1, -1)

    def replay(self, embeddings: AnySignal, lengths: Tensor) -> AnySignal:
        """The linear layer and the activation."""
        return embeddings.linear(self.linear).activated(self.activation)


class IdentityNetwork(EncoderNetwork):
    """Every state is the embedding it stands over."""

    def __init__(self, embedding: int) -> None:
        super().__init__()
        self.size = embedding

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """The embeddings."""
        return embeddings

    def without_each(self, embeddings: Tensor, lengths: Tensor, onto: Tensor, plus: Tensor) -> Tensor:
        """Deleting a token changes no other state."""
        states = embeddings @ onto + plus
        return states[:, None].expand(-1, states.shape[1], -1, -1)

    def replay(self, embeddings: AnySignal, lengths: Tensor) -> AnySignal:
        """The embeddings."""
        return embeddings

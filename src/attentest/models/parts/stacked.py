"""What is built of encoders: one on the other, and the embedding beside the state it stands under.

Nothing that knows an encoder from inside knows these, so work is shared only where they say so themselves.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from attentest.models.networks.signals import AnySignal
from attentest.models.parts.encoder import EncoderNetwork

__all__ = ["SKIPS", "SkipNetwork", "StackedNetwork"]

#: How an embedding joins its state: [h; e], or h + e (Tutek & Šnajder 2020, equations 2 and 3).
SKIPS = ("concat", "residual")


class StackedNetwork(EncoderNetwork):
    """Encoders one on the other: each reads the states of the one below."""

    def __init__(self, layers: Iterable[EncoderNetwork]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.size = self._encoders[-1].size

    @property
    def _encoders(self) -> list[EncoderNetwork]:
        return [layer for layer in self.layers if isinstance(layer, EncoderNetwork)]

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """The states of the uppermost."""
        states = embeddings
        for layer in self.layers:
            states = layer(states, lengths)
        return states

    def summary(self, states: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        """As the uppermost has it."""
        return self._encoders[-1].summary(states, lengths, mask)

    def replay(self, embeddings: AnySignal, lengths: Tensor) -> AnySignal:
        """One after the other."""
        signal = embeddings
        for layer in self._encoders:
            signal = layer.replay(signal, lengths)
        return signal


class SkipNetwork(EncoderNetwork):
    """An encoder, and around it a way from each embedding to its own state."""

    def __init__(self, encoder: EncoderNetwork, embedding: int, skip: str) -> None:
        super().__init__()
        self.encoder, self.skip = encoder, skip
        self.size = encoder.size + embedding if skip == "concat" else encoder.size

    def forward(self, embeddings: Tensor, lengths: Tensor) -> Tensor:
        """[h; e] or h + e."""
        states: Tensor = self.encoder(embeddings, lengths)
        return torch.cat([states, embeddings], dim=-1) if self.skip == "concat" else states + embeddings

    def summary(self, states: Tensor, lengths: Tensor, mask: Tensor) -> Tensor:
        """The encoder's of the states; embeddings that stand beside them are averaged over the real tokens."""
        within = self.encoder.size
        encoded = self.encoder.summary(states[..., :within], lengths, mask)
        if self.skip == "residual":
            return encoded
        return torch.cat([encoded, super().summary(states[..., within:], lengths, mask)], dim=-1)

    def without_each(self, embeddings: Tensor, lengths: Tensor, onto: Tensor, plus: Tensor) -> Tensor:
        """What the encoder gives, and the embeddings' own part, which no other token changes."""
        within = self.encoder.size
        own = onto[within:] if self.skip == "concat" else onto
        return self.encoder.without_each(embeddings, lengths, onto[:within], plus) + (embeddings @ own)[:, None]

    def replay(self, embeddings: AnySignal, lengths: Tensor) -> AnySignal:
        """The encoder's states and the embeddings, joined or added."""
        states = self.encoder.replay(embeddings, lengths)
        if self.skip == "residual":
            return (states + embeddings).settled()
        return states.joined([embeddings], lambda both: torch.cat(both, dim=-1))

"""Layers of a Transformer (Vaswani et al. 2017), each part normalised before it, whose attention can be replaced.

One callable sees the weights of every attention before they are used and may give others: those of one kind, of one
layer, of one head.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.models.parts.attention import masked_softmax

__all__ = ["KINDS", "DecoderLayer", "EncoderLayer", "LayerCourse", "Remembered", "Reweigh", "positions"]

#: Which attention: within the text to read, within the words written so far, or from these to the text.
KINDS = ("encoder", "decoder", "cross")
#: Other weights in the place of an attention's own: (weights [row, head, query, key], mask that broadcasts to them,
#: layer counted from 1, one of KINDS) → weights.
Reweigh = Callable[[Tensor, Tensor, int, str], Tensor]


@dataclass(frozen=True)
class Remembered:
    """What attention finds its weights by, and what it weighs."""

    keys: Float[Tensor, "row head key size"]
    values: Float[Tensor, "row head key size"]

    def of(self, rows: Int[Tensor, " of"]) -> Remembered:
        """Those of other rows."""
        return Remembered(self.keys[rows], self.values[rows])


def positions(begin: int, end: int, like: Float[Tensor, "*shape hidden"]) -> Float[Tensor, "position hidden"]:
    """Sines and cosines of the positions, with wavelengths from 2π to 10000·2π."""
    half = like.shape[-1] // 2
    rates = torch.exp(torch.arange(half, device=like.device) * (-math.log(10_000.0) / half))
    angles = torch.arange(begin, end, device=like.device)[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], -1).to(like.dtype)


class MultiHead(nn.Module):
    """softmax(q·k / √d) v of several heads side by side, and a map of what they find together."""

    def __init__(self, hidden: int, heads: int, layer: int, kind: str) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (_linear(hidden, hidden) for _ in range(4))
        self.heads, self.layer, self.kind = heads, layer, kind

    def remembered(self, states: Float[Tensor, "row key hidden"]) -> Remembered:
        """Keys and values of states."""
        return Remembered(self._by_head(self.key(states)), self._by_head(self.value(states)))

    def queries(self, states: Float[Tensor, "row query hidden"]) -> Float[Tensor, "row head query size"]:
        """Queries, divided by √d."""
        queries = self._by_head(self.query(states))
        return queries / math.sqrt(queries.shape[-1])

    def weighed(
        self,
        energies: Float[Tensor, "row head query key"],
        mask: Bool[Tensor, "#row 1 #query key"],
        reweigh: Reweigh | None,
    ) -> Float[Tensor, "row head query key"]:
        """Weights, or those that take their place."""
        weights = masked_softmax(energies, mask)
        return weights if reweigh is None else reweigh(weights, mask, self.layer, self.kind)

    def attended(
        self,
        asking: Float[Tensor, "row query hidden"],
        memory: Remembered,
        mask: Bool[Tensor, "#row 1 #query key"],
        reweigh: Reweigh | None,
    ) -> tuple[Float[Tensor, "row head query key"], Float[Tensor, "row head query size"]]:
        """The weights and what they make of the values, by head."""
        weights = self.weighed(self.queries(asking) @ memory.keys.transpose(-1, -2), mask, reweigh)
        return weights, weights @ memory.values

    def joined(self, contexts: Float[Tensor, "row head query size"]) -> Float[Tensor, "row query hidden"]:
        """What all heads found."""
        found: Tensor = self.output(contexts.transpose(1, 2).flatten(2))
        return found

    def contributed(self, values: Float[Tensor, "row key size"], head: int) -> Float[Tensor, "row key hidden"]:
        """Values of one head as they reach what all heads found, to which they are added, each by its weight."""
        size = values.shape[-1]
        return nn.functional.linear(values, self.output.weight[:, head * size : (head + 1) * size])

    def _by_head(self, states: Tensor) -> Float[Tensor, "row head position size"]:
        return states.view(*states.shape[:-1], self.heads, -1).transpose(1, 2)


class _Layer(nn.Module):
    """What both kinds of layers share: self-attention and, last, a network of each position alone."""

    def __init__(
        self, hidden: int, heads: int, feedforward: int, dropout: float, layer: int, kind: str, *, last: bool
    ) -> None:
        super().__init__()
        self.own = MultiHead(hidden, heads, layer, kind)
        self.feed = nn.Sequential(_linear(hidden, feedforward), nn.ReLU(), _linear(feedforward, hidden))
        self.before_own, self.before_feed = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.after = nn.LayerNorm(hidden) if last else nn.Identity()
        self.dropout = nn.Dropout(dropout)

    def finished(self, states: Float[Tensor, "*row hidden"]) -> Float[Tensor, "*row hidden"]:
        """The last part; the last layer's output is normalised."""
        out: Tensor = self.after(states + self.dropout(self.feed(self.before_feed(states))))
        return out


class EncoderLayer(_Layer):
    """Every position of a text sees all of them."""

    def forward(
        self,
        states: Float[Tensor, "row position hidden"],
        real: Bool[Tensor, "row position"],
        reweigh: Reweigh | None = None,
    ) -> Float[Tensor, "row position hidden"]:
        """The states one layer higher."""
        asking = self.before_own(states)
        _, contexts = self.own.attended(asking, self.own.remembered(asking), real[:, None, None], reweigh)
        return self.finished(states + self.dropout(self.own.joined(contexts)))


@dataclass(frozen=True)
class LayerCourse:
    """What happens in one layer while texts are written."""

    own: Remembered
    #: Before attention to the text; its weights and what they make, by head; and the layer's output.
    before: Float[Tensor, "row step hidden"]
    weights: Float[Tensor, "row head step token"]
    contexts: Float[Tensor, "row head step size"]
    after: Float[Tensor, "row step hidden"]


class DecoderLayer(_Layer):
    """Every word sees those before it and itself, and then the text."""

    def __init__(
        self, hidden: int, heads: int, feedforward: int, dropout: float, layer: int, kind: str, *, last: bool
    ) -> None:
        super().__init__(hidden, heads, feedforward, dropout, layer, kind, last=last)
        self.cross, self.before_cross = MultiHead(hidden, heads, layer, "cross"), nn.LayerNorm(hidden)

    def forward(
        self,
        states: Float[Tensor, "row step hidden"],
        memory: Remembered,
        mask: Bool[Tensor, "row token"],
        reweigh: Reweigh | None = None,
    ) -> LayerCourse:
        """All steps at once."""
        steps = states.shape[1]
        asking = self.before_own(states)
        own = self.own.remembered(asking)
        seen = torch.ones(steps, steps, dtype=torch.bool, device=states.device).tril()[None, None]
        _, contexts = self.own.attended(asking, own, seen, reweigh)
        before = states + self.dropout(self.own.joined(contexts))
        weights, contexts = self.cross.attended(self.before_cross(before), memory, mask[:, None, None], reweigh)
        after = self.finished(before + self.dropout(self.cross.joined(contexts)))
        return LayerCourse(own, before, weights, contexts, after)

    def step(
        self,
        states: Float[Tensor, "row alternative hidden"],
        past: Remembered,
        seen: Bool[Tensor, "row past"],
        memory: Remembered,
        mask: Bool[Tensor, "row token"],
        reweigh: Reweigh | None = None,
    ) -> tuple[Float[Tensor, "row alternative hidden"], Remembered]:
        """One step, of which there may be alternatives: each sees what is past, and itself; also what it leaves."""
        asking = self.before_own(states)
        here, queries = self.own.remembered(asking), self.own.queries(asking)
        energies = torch.cat(
            [queries @ past.keys.transpose(-1, -2), (queries * here.keys).sum(-1, keepdim=True)], dim=-1
        )
        both = torch.cat([seen, seen.new_ones(len(seen), 1)], dim=-1)
        weights = self.own.weighed(energies, both[:, None, None], reweigh)
        contexts = weights[..., :-1] @ past.values + weights[..., -1:] * here.values
        before = states + self.dropout(self.own.joined(contexts))
        _, contexts = self.cross.attended(self.before_cross(before), memory, mask[:, None, None], reweigh)
        return self.finished(before + self.dropout(self.cross.joined(contexts))), here


def _linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    nn.init.xavier_uniform_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer

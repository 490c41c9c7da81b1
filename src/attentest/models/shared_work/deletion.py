"""Every item of a sequence deleted in turn: encoder, attention and head without it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from attentest.data.batches import Batch
from attentest.models.parts.attention import AttentionNetwork, EnergyNetwork
from attentest.models.parts.bidirectional import BidirectionalNetwork
from attentest.models.parts.encoder import EncoderNetwork
from attentest.models.parts.heads import HeadNetwork
from attentest.models.queries import NO_QUERIES, Queries
from attentest.models.subject import Subject

#: Shortened texts that are read at a time.
ROWS = {"cpu": 512, "cuda": 16_384}

__all__ = [
    "ROWS",
    "HeadSight",
    "Seen",
    "decoded_without_each",
    "encoded_without_each",
    "pooled_without_each",
    "weighs_by_energy",
]


@dataclass(frozen=True)
class Seen:
    """What attention and head see of a state: onto makes keys and values of it, and of keys comes one energy."""

    onto: Float[Tensor, "state out"]
    plus: Float[Tensor, " out"]
    attention: AttentionNetwork

    @classmethod
    def of(cls, attention: AttentionNetwork, values: Float[Tensor, "state value"]) -> Seen:
        """Of states that attention weighs, and of which the head sees these values."""
        keys = attention.keys
        onto = torch.cat([keys.weight.T, values], dim=1)
        plus = onto.new_zeros(onto.shape[1])
        plus[: keys.out_features] = 0.0 if keys.bias is None else keys.bias
        return cls(onto, plus, attention)

    def __call__(self, projected: Float[Tensor, "*rows out"]) -> Float[Tensor, "*rows seen"]:
        """The energy, and the values after it."""
        assert isinstance(self.attention, EnergyNetwork)
        keys, values = self.parts(projected)
        return torch.cat([self.attention.energies(keys)[..., None], values], dim=-1)

    def parts(
        self, projected: Float[Tensor, "*rows out"]
    ) -> tuple[Float[Tensor, "*rows key"], Float[Tensor, "*rows value"]]:
        """Keys and values."""
        size = self.attention.keys.out_features
        return projected[..., :size], projected[..., size:]

    def pooled(
        self,
        projected: Float[Tensor, "*batch token out"],
        mask: Bool[Tensor, "*#batch token"],
        query: Shaped[Tensor, "*#batch query"] | None,
    ) -> Float[Tensor, "*batch value"]:
        """The values of every sequence, weighed."""
        keys, values = self.parts(projected)
        pooled: Tensor = (self.attention.weigh(keys, mask, query)[..., None, :] @ values)[..., 0, :]
        return pooled


def weighs_by_energy(attention: AttentionNetwork) -> TypeGuard[EnergyNetwork]:
    """Whether one number for every state is all that an attention's weights come from."""
    return isinstance(attention, EnergyNetwork) and type(attention).weigh is EnergyNetwork.weigh


def pooled_without_each(
    encoder: EncoderNetwork,
    attention: AttentionNetwork,
    values: Float[Tensor, "state value"],
    inputs: Float[Tensor, "batch item input"],
    lengths: Int[Tensor, " batch"],
    mask: Bool[Tensor, "batch item"],
    query: Shaped[Tensor, "batch query"] | None = None,
) -> Float[Tensor, "batch deleted value"]:
    """Σ α_t h_t·values of the sequence without item d, for every d, the encoder sharing what stays the same."""
    seen = Seen.of(attention, values)
    others = mask[:, None, :] & ~torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
    if isinstance(encoder, BidirectionalNetwork) and query is None and weighs_by_energy(attention):
        out = encoder.without_each(inputs, lengths, seen.onto, seen.plus, seen, _edges(lengths, mask))
        pooled: Tensor = (attention.normalise(out[..., 0], others)[..., None, :] @ out[..., 1:])[..., 0, :]
        return pooled
    out = encoder.without_each(inputs, lengths, seen.onto, seen.plus)
    return seen.pooled(out, others, None if query is None else query[:, None])


def _edges(lengths: Int[Tensor, " batch"], mask: Bool[Tensor, "batch item"]) -> int:
    """1 where every sequence begins and ends with a symbol, which nobody deletes; else 0."""
    last = mask.gather(1, (lengths - 1).clamp(min=0)[:, None])
    return 0 if mask.numel() == 0 or bool(mask[:, 0].any() | last.any()) else 1


def decoded_without_each(
    encoder: EncoderNetwork,
    attention: AttentionNetwork,
    head: HeadNetwork,
    inputs: Float[Tensor, "batch item input"],
    lengths: Int[Tensor, " batch"],
    mask: Bool[Tensor, "batch item"],
    queries: Queries = NO_QUERIES,
) -> Float[Tensor, "batch deleted class"]:
    """The logits without each item; the queries stay."""
    sight = HeadSight.of(head, encoder.size, inputs)
    pooled = pooled_without_each(encoder, attention, sight.values, inputs, lengths, mask, queries.attention)
    return sight.decoded(pooled, queries.each)


@dataclass(frozen=True)
class HeadSight:
    """What a head sees of states: of an affine one each state's own logits, which are weighed like states."""

    head: HeadNetwork
    values: Float[Tensor, "state value"]
    nothing: Float[Tensor, " class"] | None

    @classmethod
    def of(cls, head: HeadNetwork, size: int, like: Tensor) -> HeadSight:
        """Of states of this size; where there are more classes than numbers in a state, the state itself."""
        identity = torch.eye(size).to(like)
        if not head.affine:
            return cls(head, identity, None)
        nothing = head(torch.zeros_like(identity[0]))
        return cls(head, identity, None) if len(nothing) > size else cls(head, head(identity) - nothing, nothing)

    def decoded(self, pooled: Float[Tensor, "*batch value"], queries: Queries) -> Float[Tensor, "*batch class"]:
        """The logits of weighed values."""
        if self.nothing is None:
            return queries.decoded(self.head, pooled)
        if queries.head is None:
            return queries.answered(pooled + self.nothing)
        zeros = torch.zeros_like(self.values[:, 0])
        return queries.answered(pooled + self.head(zeros.expand(*queries.head.shape[:-1], -1), queries.head))


def encoded_without_each(subject: Subject, batch: Batch) -> Float[Tensor, "batch deleted class"]:
    """The logits without each token, every shortened text encoded: for subjects that can share nothing."""
    count, width = batch.mask.shape
    rows = torch.arange(count, device=batch.mask.device).repeat_interleave(width)
    texts = batch[rows].with_text(batch.text.without_each())
    room = ROWS.get(subject.device.type, ROWS["cpu"])
    parts = [subject.read(texts[start : start + room]).logits for start in range(0, len(texts), room)]
    return torch.cat(parts).view(count, width, -1)

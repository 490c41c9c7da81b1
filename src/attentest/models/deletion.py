"""Every item of a sequence deleted in turn: encoder, attention and head without it."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.models.attention import AttentionNetwork
from attentest.models.encoder import EncoderNetwork
from attentest.models.heads import HeadNetwork

__all__ = ["decoded_without_each", "pooled_without_each"]


def pooled_without_each(
    encoder: EncoderNetwork,
    attention: AttentionNetwork,
    values: Float[Tensor, "state value"],
    inputs: Float[Tensor, "batch item input"],
    lengths: Int[Tensor, " batch"],
    mask: Bool[Tensor, "batch item"],
) -> Float[Tensor, "batch deleted value"]:
    """Σ α_t h_t·values of the sequence without item d, for every d, the encoder sharing what stays the same."""
    keys = attention.keys
    onto = torch.cat([keys.weight.T, values], dim=1)
    plus = onto.new_zeros(onto.shape[1])
    plus[: keys.out_features] = 0.0 if keys.bias is None else keys.bias
    out = encoder.without_each(inputs, lengths, onto, plus)
    keyed, valued = out.split([keys.out_features, values.shape[1]], dim=-1)
    others = ~torch.eye(out.shape[1], dtype=torch.bool, device=out.device)
    weights = attention.weigh(keyed, mask[:, None, :] & others)
    pooled: Tensor = (weights[..., None, :] @ valued)[..., 0, :]
    return pooled


def decoded_without_each(
    encoder: EncoderNetwork,
    attention: AttentionNetwork,
    head: HeadNetwork,
    inputs: Float[Tensor, "batch item input"],
    lengths: Int[Tensor, " batch"],
    mask: Bool[Tensor, "batch item"],
) -> Float[Tensor, "batch deleted class"]:
    """The logits without each item."""
    identity = torch.eye(encoder.size).to(inputs)
    nothing = head(torch.zeros_like(identity[0]))
    values = head(identity) - nothing if head.affine else identity
    pooled = pooled_without_each(encoder, attention, values, inputs, lengths, mask)
    logits: Tensor = pooled + nothing if head.affine else head(pooled)
    return logits

"""Random numbers that depend on the seed, the instance, the draw and the token, and on nothing else.

Every number is a hash of its coordinates (splitmix64, Steele et al. 2014), so that cutting, reordering
or padding a batch, or moving it to another device, changes no draw.
"""

from __future__ import annotations

import hashlib
import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.measures.packing import ordinals

__all__ = ["another", "branched", "normals", "permutations", "uniforms"]

_INDEX_BITS = 20  # a sort key is 43 random bits above the token's position


def uniforms(
    keys: Int[Tensor, " batch"],
    draws: int,
    width: int,
    seed: int,
    stream: str = "",
    mask: Bool[Tensor, "batch width"] | None = None,
) -> Float[Tensor, "batch draws width"]:
    """Numbers in [0, 1), counted along the real tokens of the mask where one is given (zero outside it)."""
    bits = _hashed(keys, draws, _counters(keys, width, mask), seed, stream)
    numbers = _shifted(bits, 11).double() * 2.0**-53
    return numbers if mask is None else numbers.where(mask[:, None], 0.0)


def normals(
    keys: Int[Tensor, " batch"],
    draws: int,
    width: int,
    seed: int,
    stream: str = "",
    mask: Bool[Tensor, "batch width"] | None = None,
) -> Float[Tensor, "batch draws width"]:
    """Standard normal numbers (Box & Muller 1958), counted like ``uniforms``."""
    radius, angle = (uniforms(keys, draws, width, seed, f"{stream}/{part}", mask) for part in ("radius", "angle"))
    return (-2 * torch.log1p(-radius)).sqrt() * torch.cos(2 * math.pi * angle)


def permutations(
    keys: Int[Tensor, " batch"], draws: int, mask: Bool[Tensor, "batch token"], seed: int, stream: str = ""
) -> Int[Tensor, "batch draws token"]:
    """Positions to gather from: uniform permutations of the real tokens, the masked ones left in place."""
    width = mask.shape[-1]
    here = torch.arange(width, device=mask.device)
    bits = _hashed(keys, draws, _counters(keys, width, mask), seed, f"{stream}/permutations")
    # Sorting (random bits, position) as one number is faster than sorting with an index beside it.
    sortable = (_shifted(bits, _INDEX_BITS + 1) << _INDEX_BITS) | here
    order = sortable.masked_fill_(~mask[:, None], torch.iinfo(torch.int64).max).sort(-1).values
    order &= (1 << _INDEX_BITS) - 1
    placed = order.gather(-1, ordinals(mask)[:, None].expand_as(order))
    return torch.where(mask[:, None], placed, here)


def another(
    drawn: Float[Tensor, " *shape"], count: Int[Tensor, " *shape"], own: Int[Tensor, " *shape"]
) -> Int[Tensor, " *shape"]:
    """One of 0 … count − 1 that is not one's own, by numbers in [0, 1); one's own where there is no other."""
    found = (drawn * (count - 1)).long()
    return torch.where(count > 1, found + (found >= own).long(), own)


def branched(keys: Int[Tensor, " part"], number: Int[Tensor, " part"]) -> Int[Tensor, " part"]:
    """Keys for the parts of instances, such as their sentences: one for every (instance's key, number)."""
    return mixed_bits(keys.long() + _GOLDEN * (number + 1))


def _counters(
    keys: Int[Tensor, " batch"], width: int, mask: Bool[Tensor, "batch width"] | None
) -> Int[Tensor, "#batch width"]:
    return torch.arange(width, device=keys.device)[None] if mask is None else ordinals(mask)


def _hashed(
    keys: Int[Tensor, " batch"], draws: int, counters: Int[Tensor, "#batch width"], seed: int, stream: str
) -> Int[Tensor, "batch draws width"]:
    """64 random bits for every (seed, stream, key, draw, counter)."""
    digest = hashlib.blake2b(f"{seed}/{stream}".encode(), digest_size=8).digest()
    state = mixed_bits(keys.long() + int.from_bytes(digest, "big", signed=True))
    numbers = torch.arange(draws, device=keys.device)
    state = mixed_bits(state[:, None] + _GOLDEN * (numbers + 1))
    return mixed_bits(state[:, :, None] + _GOLDEN * (counters[:, None] + 1))


def _signed(bits: int) -> int:
    return bits - (1 << 64) if bits >> 63 else bits


_GOLDEN = _signed(0x9E3779B97F4A7C15)
_FIRST = _signed(0xBF58476D1CE4E5B9)
_SECOND = _signed(0x94D049BB133111EB)


def mixed_bits(bits: Int[Tensor, "*shape"]) -> Int[Tensor, "*shape"]:
    """The finaliser of splitmix64; multiplication wraps around."""
    bits = (bits ^ _shifted(bits, 30)) * _FIRST
    bits = (bits ^ _shifted(bits, 27)) * _SECOND
    return bits ^ _shifted(bits, 31)


def _shifted(bits: Int[Tensor, "*shape"], places: int) -> Int[Tensor, "*shape"]:
    """A logical right shift: torch's own copies the sign bit."""
    return (bits >> places) & ((1 << (64 - places)) - 1)

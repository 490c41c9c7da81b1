"""Whole attentions replaced: where a model of many layers attends, and what takes the place of its weights there."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.errors import InputError
from attentest.measures.chance import uniforms

__all__ = ["REPLACEMENTS", "AttentionPlace", "Replacement"]

#: What may take the place of weights, among the keys that a query may see.
REPLACEMENTS = ("permutation", "uniform", "random")


@dataclass(frozen=True)
class AttentionPlace:
    """One attention of a model of many layers."""

    #: "self" where there is one kind; else "encoder", "decoder" (among the words written) or "cross" (from these to the
    #: text).
    kind: str
    #: Its number among those of its kind, from 1.
    layer: int
    #: Whether there is never more than one key to attend to.
    one_key: bool = False


@dataclass(frozen=True)
class Replacement:
    """What takes the place of weights, by chance that depends on the seed, the stream and random keys alone."""

    how: str
    seed: int
    stream: str

    def __post_init__(self) -> None:
        if self.how not in REPLACEMENTS:
            raise InputError(f"replacement={self.how!r} must be one of {', '.join(REPLACEMENTS)}.")

    def drawn(
        self,
        weights: Float[Tensor, "row query key"],
        seen: Bool[Tensor, "row query key"],
        keys: Int[Tensor, " row"],
        part: str,
    ) -> Float[Tensor, "row query key"]:
        """Other weights within what each query may see; every ``part`` of a model draws its own."""
        if self.how == "uniform":
            return seen.to(weights.dtype) / seen.sum(-1, keepdim=True).clamp(min=1)
        chance = uniforms(keys, weights.shape[1], weights.shape[2], self.seed, f"{self.stream}/{part}")
        if self.how == "random":
            drawn = (1.0 - chance) * seen
            return (drawn / drawn.sum(-1, keepdim=True).clamp(min=1e-300)).to(weights.dtype)
        order = chance.masked_fill(~seen, 2.0).argsort(dim=-1, stable=True)
        source = order.gather(-1, (seen.cumsum(-1) - 1).clamp(min=0))
        here = torch.arange(weights.shape[-1], device=weights.device)
        return weights.gather(-1, source.where(seen, here))

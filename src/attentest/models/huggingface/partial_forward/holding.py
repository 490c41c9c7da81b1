"""Attentions kept as they are in one pass, and held so in another over copies of the same texts."""

from __future__ import annotations

from jaxtyping import Float, Int
from torch import Tensor

from attentest.models.huggingface.attending import Edit

__all__ = ["holding", "keeping"]


def keeping(kept: dict[int, Tensor], place: int) -> Edit:
    """An edit that changes nothing, and keeps the weights of an attention."""

    def keep(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        kept[place] = weights
        return weights, values

    return keep


def holding(kept: Float[Tensor, "text head query slot"], texts: Int[Tensor, " copy"]) -> Edit:
    """An edit that puts a text's weights into each of its copies."""

    def hold(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        return kept[texts], values

    return hold

"""Other weights in the place of a Transformer's own, drawn for every head by chance that is the text's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import step_keys
from attentest.measures.chance import branched
from attentest.models.networks.beam import Weigh
from attentest.models.parts.transformer_layers import Reweigh
from attentest.models.replaced import AttentionPlace, Replacement

__all__ = ["at_every_head", "by_head", "replacing", "rows_replaced"]


def by_head(keys: Int[Tensor, "row query"], layer: int, heads: int) -> Int[Tensor, "row head query"]:
    """Random keys for every head of a layer."""
    number = layer * heads + torch.arange(heads, device=keys.device)
    each = keys[:, None].expand(-1, heads, -1)
    return branched(each.flatten(), number[:, None].expand_as(each).flatten()).view_as(each)


def at_every_head(weigh: Weigh, keys: Int[Tensor, " row"], step: int) -> Reweigh:
    """Weights over the text at one step of writing, each head's as a row of its own."""

    def reweigh(weights: Tensor, mask: Tensor, layer: int, kind: str) -> Tensor:
        if kind != "cross":
            return weights
        each, wide = by_head(keys[:, None], layer, weights.shape[1]).flatten(), mask.expand_as(weights)
        found = weigh(weights.flatten(0, 2), wide.flatten(0, 2), each, step)
        return found.view_as(weights).to(weights.dtype)

    return reweigh


def replacing(
    replacement: Replacement,
    rows: Mapping[AttentionPlace, Int[Tensor, " chosen"]],
    keys: Int[Tensor, " row"],
    begin: int = 0,
) -> Reweigh:
    """Other weights in every head of these attentions, each in some rows; the first query stands at ``begin``.

    What is drawn depends on the text, kind, layer, head and query, so that writing step by step draws the same as
    writing all steps at once.
    """

    def reweigh(weights: Tensor, mask: Tensor, layer: int, kind: str) -> Tensor:
        chosen = rows.get(AttentionPlace(kind, layer))
        if chosen is None:
            return weights
        own, seen = (values[chosen].flatten(0, 2)[:, None] for values in (weights, mask.expand_as(weights)))
        number = torch.arange(begin, begin + weights.shape[2], device=keys.device)
        random_keys = step_keys(keys[chosen][:, None].expand(-1, len(number)), number.expand(len(chosen), -1))
        drawn = replacement.drawn(own, seen, by_head(random_keys, layer, weights.shape[1]).flatten(), kind)
        return weights.index_copy(0, chosen, drawn.view(len(chosen), *weights.shape[1:]))

    return reweigh


def rows_replaced(
    places: Sequence[AttentionPlace], sets: Sequence[Sequence[int]], rows: int, device: torch.device
) -> dict[AttentionPlace, Int[Tensor, " chosen"]]:
    """The rows in which each attention is replaced, when so many rows of every set stand one set after the other."""
    every = torch.arange(rows * len(sets), device=device).view(len(sets), rows)
    return {
        place: torch.cat(those)
        for number, place in enumerate(places)
        if (those := [block for block, chosen in zip(every, sets, strict=True) if number in chosen])
    }

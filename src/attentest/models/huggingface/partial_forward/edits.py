"""What a pass may do to an attention: keep it, hold it, replace it, shift a word's state, or knock a word out."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.models.huggingface.attending import Edit
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.site import Site
from attentest.models.replaced import Replacement

__all__ = ["KnockedOut", "holding", "keeping", "replacing", "shifted"]

#: A row that gives all other keys no more than this has nothing left.
NONE = 1e-15


def keeping(kept: dict[int, Tensor], place: int) -> Edit:
    """An edit that changes nothing, and keeps the weights of an attention."""

    def keep(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        kept[place] = weights
        return weights, values

    return keep


def holding(kept: Float[Tensor, "text head query slot"], texts: Int[Tensor, " copy"]) -> Edit:
    """An edit that puts a text's kept weights into each of its copies."""

    def hold(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        return kept[texts], values

    return hold


def replacing(replacement: Replacement, place: int, keys: Int[Tensor, " batch"]) -> Edit:
    """An edit that replaces one attention in every head and row; draws depend on seed, text, head, row and slot."""

    def edit(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        seen = allowed.expand(len(weights), weights.shape[2], -1)
        heads = [replacement.drawn(weights[:, i], seen, keys, f"{place}/{i}") for i in range(weights.shape[1])]
        return torch.stack(heads, dim=1), values

    return edit


def shifted(site: Site, layout: Layout, shift: Float[Tensor, "batch word state"]) -> Edit:
    """An edit that shifts what a site's rows find in each word: one more key a word, with its weight in these rows."""

    def edit(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        heads = site.heads(weights.shape[1]).to(weights.device)
        rows = site.chosen_rows(layout, weights.shape[2])
        here = heads[None, :, None, None] & rows[:, None, :, None]
        more = layout.pooled(weights).where(here, 0.0)
        found = values.new_zeros(*more.shape[:2], more.shape[-1], values.shape[-1])
        found[:, heads] = shift.unflatten(-1, (-1, values.shape[-1])).transpose(1, 2)
        return torch.cat([weights, more], dim=-1), torch.cat([values, found], dim=2)

    return edit


@dataclass(eq=False)
class KnockedOut:
    """One word of every text loses its keys, all its pieces together; a row with nothing left stays as it is."""

    layout: Layout
    word: Int[Tensor, " batch"]
    #: Whether the word's own rows still see it.
    own: bool = False
    #: Whether what is left of a row is scaled to the sum that the row had.
    renormalise: bool = True

    def __post_init__(self) -> None:
        self.gone = self.layout.owner == self.word[:, None]
        #: Of real rows in all heads that were edited: how many stayed as they were, and how many there are.
        self.stayed, self.rows = (torch.zeros_like(self.word) for _ in range(2))

    def edit(self, *, crosses: bool) -> Edit:
        """What is done to one attention; ``crosses``: its rows are not the text's own."""
        keys = self.gone[:, None, None]
        gone = keys & ~self.gone[:, None, :, None] if self.own and not crosses else keys

        def knock(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
            left = weights.masked_fill(gone, 0.0)
            total = left.sum(-1, keepdim=True)
            nothing = total <= NONE
            self._count(nothing[..., 0], crosses)
            if self.renormalise:
                left = left * (weights.sum(-1, keepdim=True) / total.where(~nothing, 1.0))
            return weights.where(nothing, left), values

        return knock

    def _count(self, nothing: Tensor, crosses: bool) -> None:
        real = torch.ones_like(nothing[:, 0]) if crosses else self.layout.mask
        self.stayed += (nothing & real[:, None]).sum((1, 2))
        self.rows += real.sum(-1) * nothing.shape[1]

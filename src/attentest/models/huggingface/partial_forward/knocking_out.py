"""A word's keys knocked out: no row sees the word any more, in every head of an attention."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.models.huggingface.attending import Edit
from attentest.models.huggingface.pieces import Layout

__all__ = ["KnockedOut"]

#: A row that gives all other keys no more than this has nothing left.
NONE = 1e-15


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

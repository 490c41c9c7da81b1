"""Many texts that begin alike: a recurrence passes every distinct beginning once.

Words that are put back into a text one by one, or taken out, leave texts that are the same up to the first of these
words. So the texts are a tree of beginnings, and its nodes are computed depth by depth, each from its parent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.models.products import linear_added, whole_rows

__all__ = ["Beginnings"]


@dataclass(frozen=True)
class Beginnings:
    """The distinct beginnings of some texts, numbered depth by depth: after so many words of a text, which one it is.

    Every depth has a few numbers more than beginnings, which stand for nothing: products are made of whole rows.
    """

    #: The number of the beginning that ends at each position; behind a text's end any.
    place: Int[Tensor, "batch position"]
    #: The last word of every beginning, and which of those one word shorter it goes on from, counted at their depth.
    words: Int[Tensor, " node"]
    parents: Int[Tensor, " node"]
    #: How many numbers there are at each depth.
    sizes: list[int]

    @classmethod
    def of(cls, index: Int[Tensor, "batch position"], lengths: Int[Tensor, " batch"]) -> Beginnings:
        """Of texts given as numbers of words."""
        texts = np.where(np.arange(index.shape[1]) < lengths.numpy()[:, None], index.numpy(), -1)
        order = np.lexsort(texts.T[::-1])
        texts = texts[order]
        new = _first_of_each(texts)
        number = new.cumsum(axis=0).clip(min=1) - 1
        sizes = [whole_rows(count) for count in new.sum(0).tolist()]
        node = number + np.cumsum([0, *sizes[:-1]])
        depths, rows = new.T.nonzero()
        nodes = node[rows, depths]
        words, parents = np.zeros((2, sum(sizes)), np.int64)
        words[nodes], parents[nodes] = texts[rows, depths], number[rows, depths - 1]
        place = np.empty_like(node)
        place[order] = node.clip(max=len(words) - 1)
        return cls(torch.from_numpy(place), torch.from_numpy(words), torch.from_numpy(parents), sizes)

    def lstm(
        self, projected: Float[Tensor, "word gate"], recurrent: Float[Tensor, "hidden gate"]
    ) -> Float[Tensor, "node hidden"]:
        """The states of a one-directional LSTM after every beginning; gates are in the order that Cell puts them."""
        states = projected.new_empty(len(self.words), len(recurrent))
        c = projected.new_zeros(self.sizes[0] if self.sizes else 0, len(recurrent))
        steps = zip(*(part.split(self.sizes) for part in (states, self.words, self.parents)), strict=True)
        before: Tensor | None = None
        for h, words, parents in steps:
            gates = projected.index_select(0, words)
            if before is not None:
                gates = linear_added(gates, before.index_select(0, parents), recurrent.T)
                c = c.index_select(0, parents)
            into, forget, out, new = gates.sigmoid_().chunk(4, dim=-1)
            c.mul_(forget).addcmul_(into, new, value=2.0).sub_(into)
            torch.mul(c, 2.0, out=h).sigmoid_().mul_(2.0).sub_(1.0).mul_(out)
            before = h
        return states


def _first_of_each(texts: np.ndarray) -> Bool[np.ndarray, "batch position"]:
    """Of texts in order, where a beginning is seen for the first time; nowhere behind a text's end."""
    new = np.ones(texts.shape, bool)
    np.logical_or.accumulate(texts[1:] != texts[:-1], axis=1, out=new[1:])
    return new & (texts >= 0)

"""Candidates: the classes that may be chosen for a text, where not all may.

A question about an article is answered by an entity that the article names (Hermann et al. 2015), so only those of its
own text compete for it. A split says so in its column ``candidates``, a list of classes for every text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.corpus import Split

__all__ = ["Candidates", "with_candidates"]


@dataclass(frozen=True)
class Candidates:
    """The lists of a split as flat classes and the offsets between texts."""

    classes: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, split: Split) -> Candidates | None:
        """The split's, or None where every class may be chosen."""
        if not split.has("candidates"):
            return None
        column = split.table["candidates"]
        sizes = pc.list_value_length(column).fill_null(0).to_numpy()
        return cls(pc.list_flatten(column).to_numpy().astype(np.int64), np.concatenate([[0], np.cumsum(sizes)]))

    def batch(self, rows: np.ndarray) -> Int[Tensor, "batch place"]:
        """Those of some texts side by side, −1 after the last of each."""
        begins, sizes = self.offsets[rows], self.offsets[rows + 1] - self.offsets[rows]
        column = np.arange(sizes.max(initial=0))[None, :]
        real = column < sizes[:, None]
        out = np.full(real.shape, -1, np.int64)
        out[real] = self.classes[(begins[:, None] + column)[real]]
        return torch.from_numpy(out)


def with_candidates(split: Split, classes: Sequence[str]) -> Split:
    """The split with the classes whose names are tokens of each text."""
    column = split.table["tokens"].combine_chunks()
    named = pc.index_in(column.flatten(), pa.array(classes, pa.string())).fill_null(-1).to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(split)), split.lengths)
    there = np.unique(np.stack([rows[named >= 0], named[named >= 0]]), axis=1)
    sizes = np.bincount(there[0], minlength=len(split))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    lists = pa.ListArray.from_arrays(offsets, pa.array(there[1].astype(np.int32)))
    return Split(split.table.append_column("candidates", lists))

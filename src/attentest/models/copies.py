"""Copies of a batch's texts, as often as they are named."""

from __future__ import annotations

from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch

__all__ = ["copies"]


def copies(batch: Batch, rows: Int[Tensor, " copy"]) -> Batch:
    """The texts at these rows, in this order, no wider than the longest of them."""
    made = batch[rows]
    return made.narrowed(int(made.text.lengths.max())) if len(rows) else made

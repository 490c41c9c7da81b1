"""Copies of a batch's texts, as often as they are named."""

from __future__ import annotations

from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch, Sequences

__all__ = ["copies"]


def copies(batch: Batch, rows: Int[Tensor, " copy"]) -> Batch:
    """The texts at these rows, in this order, no wider than the longest of them."""
    text = _sequences(batch.text, rows)
    second = None if batch.second is None else _sequences(batch.second, rows)
    made = Batch(text, batch.labels[rows], batch.rows[rows], batch.keys[rows], second)
    return made.narrowed(int(text.lengths.max())) if len(rows) else made


def _sequences(of: Sequences, rows: Tensor) -> Sequences:
    return Sequences(of.tokens[rows], of.lengths[rows], of.mask[rows])

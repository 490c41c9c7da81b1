"""The words that a split marks as deciding, and those that each person marked, cut into padded batches on demand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.data.corpus import Split
from attentest.measures.human_agreement import Annotations
from attentest.measures.packing import ordinals

__all__ = ["Annotators", "MarkedTokens", "Rationales"]


@dataclass(frozen=True)
class Rationales:
    """A split's rationale as flat flags, cut into padded batches on demand."""

    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, split: Split) -> Rationales | None:
        """The split's; None where it marks nothing."""
        if not split.has("rationale"):
            return None
        offsets = np.concatenate([[0], np.cumsum(split.lengths)])
        values = np.zeros(offsets[-1], bool)
        start = 0
        for chunk in split.table["rationale"].chunks:
            # A text without marks has none that decides; the others have one flag per token.
            marked = np.repeat(
                chunk.is_valid().to_numpy(zero_copy_only=False), split.lengths[start : start + len(chunk)]
            )
            place = values[offsets[start] : offsets[start + len(chunk)]]
            place[marked] = chunk.flatten().to_numpy(zero_copy_only=False)
            start += len(chunk)
        return cls(values, offsets)

    def batch(self, batch: Batch) -> torch.Tensor:
        """The flags of a batch at the positions of its real tokens."""
        mask = batch.mask.cpu()
        out = torch.zeros_like(mask)
        rows = batch.rows.cpu().numpy()
        parts = [self.values[self.offsets[row] : self.offsets[row + 1]] for row in rows]
        out[mask] = torch.from_numpy(np.concatenate(parts).astype(bool))
        return out.to(batch.mask.device)


@dataclass(frozen=True)
class MarkedTokens:
    """A split's marks on the device of a model that trains on it: flat flags, and where those of each text begin."""

    flags: Bool[Tensor, " token"]
    begins: Int[Tensor, " text"]

    @classmethod
    def of(cls, split: Split, device: torch.device) -> MarkedTokens:
        """Those of a split that has marks."""
        marks = Rationales.of(split)
        assert marks is not None
        return cls(*(torch.from_numpy(kept).to(device) for kept in (marks.values, marks.offsets[:-1])))

    def batch(self, batch: Batch) -> Bool[Tensor, "batch token"]:
        """The flags of a batch's real tokens."""
        place = self.begins[batch.rows, None] + ordinals(batch.mask)
        return batch.mask & self.flags[place.clamp(max=len(self.flags) - 1)]

    @staticmethod
    def lacking(split: Split) -> str | None:
        """That a split marks no token, with the next step; of texts to write, links mark those of every step."""
        if split.has("target"):
            said = "the texts to train on link no words. Use a corpus that links them (--corpus dates)"
            return None if split.has("alignment") else said
        marks = Rationales.of(split)
        if marks is not None and marks.values.any():
            return None
        return (
            "the texts to train on have no rationales. Use a corpus that has (--corpus reviews), or mark words (--mark)"
        )


@dataclass(frozen=True)
class Annotators:
    """What each person marked, as flat flags: text by text, person by person."""

    counts: np.ndarray
    values: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, split: Split) -> Annotators | None:
        """The split's; None where nobody is told apart."""
        if not split.has("annotations"):
            return None
        column = split.table["annotations"]
        counts = pc.list_value_length(column).fill_null(0).to_numpy()
        values = pc.list_flatten(pc.list_flatten(column)).to_numpy()
        return cls(counts, values, np.concatenate([[0], np.cumsum(counts * split.lengths)]))

    def batch(self, batch: Batch) -> Annotations:
        """The flags of a batch, with room for as many people as any text has."""
        mask, rows = batch.mask.cpu(), batch.rows.cpu().numpy()
        there = torch.from_numpy(np.arange(self.counts.max(initial=0)) < self.counts[rows, None])
        marked = there[:, :, None] & mask[:, None]
        flags = torch.zeros_like(marked)
        parts = [self.values[self.offsets[row] : self.offsets[row + 1]] for row in rows]
        flags[marked] = torch.from_numpy(np.concatenate(parts).astype(bool))
        return Annotations(flags.to(batch.mask.device), there.to(batch.mask.device))

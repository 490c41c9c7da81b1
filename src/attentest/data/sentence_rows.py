"""The sentences of a batch as rows of words, so that all of them are encoded side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

__all__ = ["SentenceRows", "Sentences"]

#: Sentences shorter than this share of the longest beside them go by themselves: a core computes all padding, on a GPU
#: every further pass over time costs more than padding does.
SHARE = {"cpu": 0.7, "cuda": 0.25}
#: Sentences of fewer words than this always go together.
FEW = 8


@dataclass(frozen=True)
class SentenceRows:
    """Every sentence of a batch, longest first: its text, its place among the text's sentences, where its words are."""

    #: The sentences' lengths on the host, so that no device is asked for them.
    sizes: np.ndarray
    #: The largest number of sentences that a text has.
    most: int
    text: Int[Tensor, " sentence"]
    ordinal: Int[Tensor, " sentence"]
    first: Int[Tensor, " sentence"]
    lengths: Int[Tensor, " sentence"]
    #: Sentences of each text, and the sentence that each position belongs to (−1: none).
    counts: Int[Tensor, " batch"]
    items: Int[Tensor, "batch position"]

    @classmethod
    def of(cls, labels: Int[Tensor, "batch position"]) -> SentenceRows:
        """From the label of every position; a sentence is a run of positions with the same label."""
        given = labels.cpu().numpy()
        row, place = np.nonzero(given >= 0)
        label = given[row, place]
        begins = np.ones(len(row), bool)
        begins[1:] = (np.diff(row) != 0) | (np.diff(label) != 0)
        starts = np.flatnonzero(begins)
        sizes = np.diff(np.append(starts, len(row)))
        text = row[starts]
        counts = np.bincount(text, minlength=len(given))
        ordinal = np.arange(len(starts)) - (np.cumsum(counts) - counts)[text]
        items = np.full(given.shape, -1, np.int64)
        items[row, place] = np.repeat(ordinal, sizes)
        order = np.argsort(-sizes, kind="stable")
        columns = (text[order], ordinal[order], place[starts][order], sizes[order], counts, items)
        tensors = (torch.from_numpy(np.ascontiguousarray(c, dtype=np.int64)).to(labels.device) for c in columns)
        return cls(sizes[order], int(counts.max(initial=1)), *tensors)

    def __len__(self) -> int:
        return len(self.sizes)

    def to(self, device: torch.device) -> SentenceRows:
        """The same rows on another device."""
        moved = (self.text, self.ordinal, self.first, self.lengths, self.counts, self.items)
        return SentenceRows(self.sizes, self.most, *(part.to(device) for part in moved))

    def groups(self, cells: int = 0, power: int = 1) -> Iterator[tuple[slice, int]]:
        """Sentences of like length, and the longest of these; padding is no more than a share of a group's words.

        With ``cells``, a group also holds no more than so many sentences × longest^power (but for one sentence).
        """
        share = SHARE.get(self.text.device.type, SHARE["cpu"])
        start = 0
        while start < len(self.sizes):
            width = int(self.sizes[start])
            least = share * width if width > FEW else 0.0
            end = start + int(np.count_nonzero(self.sizes[start:] >= least))
            if cells:
                end = min(end, start + max(1, cells // width**power))
            yield slice(start, end), width
            start = end

    def places(self, part: slice, width: int) -> Int[Tensor, "sentence word"]:
        """Where the words of these sentences are in the batch laid flat; padding points at the sentence's last word."""
        step = torch.arange(width, device=self.first.device)
        within = torch.minimum(step, self.lengths[part, None] - 1)
        return self.text[part, None] * self.items.shape[1] + self.first[part, None] + within


@dataclass(frozen=True)
class Sentences:
    """Which sentence every position of a batch belongs to (−1: none); a sentence's words stand side by side."""

    labels: Int[Tensor, "batch position"]
    known: SentenceRows | None = None

    @cached_property
    def rows(self) -> SentenceRows:
        """The sentences as rows."""
        return SentenceRows.of(self.labels) if self.known is None else self.known

    def __getitem__(self, part: slice | Int[Tensor, " row"]) -> Sentences:
        return Sentences(self.labels[part])

    def narrowed(self, width: int) -> Sentences:
        """Without the positions beyond, which hold padding."""
        return self if width >= self.labels.shape[1] else Sentences(self.labels[:, :width])

    def gathered(self, order: Int[Tensor, "batch position"]) -> Sentences:
        """Of the positions in this order."""
        return Sentences(self.labels.gather(1, order))

    def to(self, device: torch.device) -> Sentences:
        """The same on another device; the rows are made on the way, so that the device need not be asked."""
        return Sentences(self.labels.to(device), self.rows.to(device))

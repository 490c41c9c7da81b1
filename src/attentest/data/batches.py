"""Padded batches, bucketed by length, made from flat arrays without a loop over instances."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attentest.data.corpus import Split
from attentest.data.sentence_rows import Sentences
from attentest.data.sentences import labels_of
from attentest.data.vocabulary import END, PAD, START, Vocabulary
from attentest.errors import InputError

__all__ = ["Batch", "Encoded", "Sequences", "bucketed", "shuffled"]


@dataclass(frozen=True)
class Sequences:
    """Padded word indices between start and end symbols; the mask keeps real tokens only."""

    tokens: Int[Tensor, "batch token"]
    lengths: Int[Tensor, " batch"]
    mask: Bool[Tensor, "batch token"]
    #: Where the texts are cut into sentences.
    sentences: Sentences | None = None

    def __getitem__(self, part: slice | Int[Tensor, " row"]) -> Sequences:
        sentences = None if self.sentences is None else self.sentences[part]
        return Sequences(self.tokens[part], self.lengths[part], self.mask[part], sentences)

    def narrowed(self, width: int) -> Sequences:
        """Without the positions beyond, which hold padding."""
        sentences = None if self.sentences is None else self.sentences.narrowed(width)
        return Sequences(self.tokens[:, :width], self.lengths, self.mask[:, :width], sentences)

    def without_each(self) -> Sequences:
        """Every text once for each of its positions, and without it: [batch × position] rows.

        Beyond its end a text has nothing to lose, and such a row means nothing.
        """
        width = self.tokens.shape[1]
        here = torch.arange(width - 1, device=self.tokens.device)
        kept = here + (here >= torch.arange(width, device=here.device)[:, None])
        tokens, mask = (values[:, kept].flatten(0, 1) for values in (self.tokens, self.mask))
        return Sequences(tokens, (self.lengths - 1).repeat_interleave(width), mask)

    def to(self, device: torch.device) -> Sequences:
        """The same sequences on another device."""
        sentences = None if self.sentences is None else self.sentences.to(device)
        return Sequences(self.tokens.to(device), self.lengths.to(device), self.mask.to(device), sentences)


@dataclass(frozen=True)
class Batch:
    """Texts (and, for pairs, the second texts), gold classes, rows of the split, random keys."""

    text: Sequences
    labels: Int[Tensor, " batch"]
    rows: Int[Tensor, " batch"]
    keys: Int[Tensor, " batch"]
    second: Sequences | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, part: slice | Int[Tensor, " row"]) -> Batch:
        second = None if self.second is None else self.second[part]
        return Batch(self.text[part], self.labels[part], self.rows[part], self.keys[part], second)

    def narrowed(self, width: int) -> Batch:
        """The same texts, when none is longer than ``width`` positions, without the padding beyond them."""
        return Batch(self.text.narrowed(width), self.labels, self.rows, self.keys, self.second)

    def swapped(self) -> Batch:
        """The second texts in the place of the first, and the first in theirs."""
        if self.second is None:
            raise InputError("These texts have no second text to put in their place.")
        return Batch(self.second, self.labels, self.rows, self.keys, self.text)

    @property
    def mask(self) -> Bool[Tensor, "batch token"]:
        """Which positions hold real tokens of the attended text."""
        return self.text.mask

    def to(self, device: torch.device) -> Batch:
        """The same batch on another device."""
        return Batch(
            self.text.to(device),
            self.labels.to(device),
            self.rows.to(device),
            self.keys.to(device),
            None if self.second is None else self.second.to(device),
        )


@dataclass(frozen=True)
class Encoded:
    """A split as flat arrays of word indices."""

    text: tuple[np.ndarray, np.ndarray]
    labels: np.ndarray
    keys: np.ndarray
    second: tuple[np.ndarray, np.ndarray] | None = None
    #: Which of its text's sentences each token belongs to, where the split says.
    sentences: np.ndarray | None = None

    @classmethod
    def of(cls, split: Split, vocabulary: Vocabulary) -> Encoded:
        """The split in this vocabulary; an instance's random key is a hash of its id."""
        keys = [int.from_bytes(hashlib.blake2b(i.encode(), digest_size=7).digest(), "big") for i in split.ids]
        second = vocabulary.encode(split.table["second"]) if split.has("second") else None
        return cls(
            vocabulary.encode(split.table["tokens"]),
            split.labels.astype(np.int64),
            np.array(keys, dtype=np.int64),
            second,
            labels_of(split),
        )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> np.ndarray:
        """The number of tokens of every text."""
        return np.diff(self.text[1])

    @property
    def second_lengths(self) -> np.ndarray | None:
        """The number of tokens of every second text, where there are any."""
        return None if self.second is None else np.diff(self.second[1])

    def batch(self, rows: np.ndarray) -> Batch:
        """These rows as one padded batch."""
        return Batch(
            _padded(*self.text, rows, self.sentences),
            torch.from_numpy(self.labels[rows]),
            torch.from_numpy(np.ascontiguousarray(rows, dtype=np.int64)),
            torch.from_numpy(self.keys[rows]),
            None if self.second is None else _padded(*self.second, rows),
        )


def _padded(
    values: np.ndarray, offsets: np.ndarray, rows: np.ndarray, sentences: np.ndarray | None = None
) -> Sequences:
    begins, sizes = offsets[rows], offsets[rows + 1] - offsets[rows]
    width = int(sizes.max()) + 2 if len(rows) else 2
    column = np.arange(width)[None, :]
    real = (column >= 1) & (column <= sizes[:, None])
    tokens = np.full((len(rows), width), PAD, dtype=np.int64)
    tokens[:, 0] = START
    tokens[np.arange(len(rows)), sizes + 1] = END
    place = (begins[:, None] + column - 1)[real]
    tokens[real] = values[place]
    cut = None
    if sentences is not None:
        labels = np.full(tokens.shape, -1, dtype=np.int64)
        labels[real] = sentences[place]
        cut = Sentences(torch.from_numpy(labels))
    return Sequences(torch.from_numpy(tokens), torch.from_numpy(sizes + 2), torch.from_numpy(real), cut)


def bucketed(encoded: Encoded, *, tokens: int = 4096, chunk: int = 2048) -> Iterator[list[Batch]]:
    """All rows in chunks of the split's order; inside a chunk, batches of like length.

    A batch holds at most ``tokens`` padded positions, so memory does not grow with the corpus.
    """
    for start in range(0, len(encoded), chunk):
        rows = np.arange(start, min(start + chunk, len(encoded)))
        ordered = rows[np.argsort(encoded.lengths[rows], kind="stable")]
        yield [encoded.batch(part) for part in _within(ordered, encoded.lengths, encoded.second_lengths, tokens)]


def _within(rows: np.ndarray, lengths: np.ndarray, seconds: np.ndarray | None, tokens: int) -> Iterator[np.ndarray]:
    """Rows sorted by length, cut so that rows × longest, of both texts, stays within the budget."""
    beside = np.zeros(len(rows), np.int64) if seconds is None else seconds[rows] + 2
    start = 0
    while start < len(rows):
        end, widest = start + 1, beside[start]
        while end < len(rows):
            widest = max(widest, beside[end])
            if (end + 1 - start) * (lengths[rows[end]] + 2 + widest) > tokens:
                break
            end += 1
        yield rows[start:end]
        start = end


def shuffled(encoded: Encoded, size: int, generator: torch.Generator, *, pool: int = 64) -> Iterator[Batch]:
    """One training epoch: random batches of like length (sorted inside pools of ``pool`` batches)."""
    order = torch.randperm(len(encoded), generator=generator).numpy()
    parts: list[np.ndarray] = []
    for start in range(0, len(order), size * pool):
        rows = order[start : start + size * pool]
        rows = rows[np.argsort(encoded.lengths[rows], kind="stable")]
        parts.extend(rows[i : i + size] for i in range(0, len(rows), size))
    for i in torch.randperm(len(parts), generator=generator).tolist():
        yield encoded.batch(parts[i])

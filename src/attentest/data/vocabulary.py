"""The vocabulary: words of the training split that occur in enough of its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from attentest.data.corpus import Split

__all__ = ["END", "PAD", "START", "UNKNOWN", "Vocabulary"]

PAD, UNKNOWN, START, END = range(4)
SPECIAL = ("<pad>", "<unk>", "<sos>", "<eos>")


@dataclass(frozen=True)
class Vocabulary:
    """Words by index; the first four are padding, unknown, start and end."""

    words: tuple[str, ...]
    #: The words to write, where texts are translated.
    target: Vocabulary | None = None

    @classmethod
    def from_split(cls, split: Split, min_frequency: int = 1) -> Vocabulary:
        """The words occurring in at least ``min_frequency`` texts of this (training) split."""
        columns = ["tokens", *(["second"] if split.has("second") else [])]
        target = cls._of(split, ["target"], min_frequency) if split.has("target") else None
        return replace(cls._of(split, columns, min_frequency), target=target)

    @classmethod
    def _of(cls, split: Split, columns: list[str], min_frequency: int) -> Vocabulary:
        total: dict[str, int] = {}
        for lists in (chunk for column in columns for chunk in split.table[column].chunks):
            coded = lists.flatten().dictionary_encode()
            texts = np.repeat(np.arange(len(lists)), _lengths(lists))
            indices = coded.indices.to_numpy(zero_copy_only=False)
            pairs = np.unique(texts * len(coded.dictionary) + indices) if len(indices) else indices
            counts = np.bincount(pairs % max(len(coded.dictionary), 1), minlength=len(coded.dictionary))
            for word, count in zip(coded.dictionary.to_pylist(), counts.tolist(), strict=True):
                total[word] = total.get(word, 0) + count
        kept = sorted(word for word, count in total.items() if count >= min_frequency and word not in SPECIAL)
        return cls((*SPECIAL, *kept))

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def index(self) -> dict[str, int]:
        """Word to index."""
        return {word: i for i, word in enumerate(self.words)}

    def encode(self, lists: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
        """Token lists as one flat array of indices, and the offset at which each text begins."""
        values = [np.zeros(0, np.int32)]
        lengths = [np.zeros(1, np.int64)]
        for chunk in lists.chunks:
            coded = chunk.flatten().dictionary_encode()
            lookup = np.array([self.index.get(w, UNKNOWN) for w in coded.dictionary.to_pylist()], dtype=np.int32)
            if len(lookup):
                values.append(lookup[coded.indices.to_numpy(zero_copy_only=False)])
            lengths.append(_lengths(chunk))
        return np.concatenate(values), np.cumsum(np.concatenate(lengths))

    def decode(self, indices: Sequence[int]) -> list[str]:
        """Indices as words."""
        return [self.words[i] for i in indices]


def _lengths(lists: pa.Array) -> np.ndarray:
    lengths: np.ndarray = lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return lengths

"""What some subjects can do beyond being read and reread: whoever needs it asks for the capability, not for a kind."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch, Encoded

__all__ = ["CutsWords", "ReadsMany"]


@runtime_checkable
class ReadsMany(Protocol):
    """Reads many texts for their logits alone, at less cost than reading each whole."""

    def logits_of_many(
        self, batch: Batch, words: Float[Tensor, "word embedding"], index: Int[Tensor, "batch position"]
    ) -> Float[Tensor, "batch class"]:
        """The logits of every text, with the embedding ``words[index]`` at each position."""


@runtime_checkable
class CutsWords(Protocol):
    """Cuts words into pieces: what a text costs is told by these."""

    def piece_counts(self, encoded: Encoded) -> np.ndarray:
        """How many pieces each text has."""

    def pieces_that_fit(self, longest: int) -> int:
        """How many pieces may be examined at once, of texts of so many."""

"""Words drawn from the corpus, to stand where words are taken out.

A deleted word leaves a sentence that nobody writes, and an unknown word leaves an embedding that a model may have seen
in no text. A word that the corpus has after the same left neighbour keeps a text nearer to those of the corpus. One
draw says as much about the word drawn as about the one taken out: what counts is the mean over many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.data.vocabulary import END, START
from attentest.measures.chance import uniforms

__all__ = ["Continuations"]


@dataclass(frozen=True)
class Continuations:
    """Which words follow which in these texts, and how often: flat indices, and where each text begins."""

    words: np.ndarray
    offsets: np.ndarray
    #: After a neighbour that fewer other words follow than this, any word is drawn: so few are of a few texts.
    fewest: int = 10

    @classmethod
    def of(cls, batch: Batch) -> Continuations:
        """Those of the texts of a batch."""
        sizes = batch.mask.sum(-1).cpu().numpy()
        return cls(batch.text.tokens[batch.mask].cpu().numpy(), np.concatenate([[0], np.cumsum(sizes)]))

    @cached_property
    def _counted(self) -> tuple[np.ndarray, np.ndarray, int]:
        """Every (left neighbour, word) as one number, in order; how many words come before each; the number of any left
        neighbour, by which words are counted alone."""
        words = self.words.astype(np.int64)
        left = np.concatenate([[START], words])[: len(words)]
        begins = self.offsets[:-1]
        left[begins[begins < len(words)]] = START
        real = words > END
        any_left = int(words.max(initial=END)) + 1
        pairs = np.concatenate([left[real], np.full(int(real.sum()), any_left)]) * any_left
        codes, counts = np.unique(pairs + np.tile(words[real], 2), return_counts=True)
        return codes, np.concatenate([[0], np.cumsum(counts)]), any_left

    def drawn(self, batch: Batch, draw: int, seed: int) -> Int[Tensor, "batch position"]:
        """The texts with every word drawn anew: one that has the same left neighbour in the corpus or, where few have,
        any word, as often as it occurs; never the word itself, unless there is no other, nor a special symbol.

        A word's draw depends on the text, its place, the number of the draw and the seed.
        """
        text, mask = batch.text.tokens.cpu().numpy(), batch.mask.cpu().numpy()
        chance = uniforms(batch.keys, 1, text.shape[1], seed, f"drawn words/{draw}", batch.mask)[:, 0].cpu().numpy()
        own, left, chance = text[mask], text[:, :-1][mask[:, 1:]], chance[mask]
        filled = text.copy()
        filled[mask] = self._draw(own, left, chance)
        return torch.from_numpy(filled).to(batch.text.tokens)

    def _draw(self, own: np.ndarray, left: np.ndarray, chance: np.ndarray) -> np.ndarray:
        codes, before, any_left = self._counted
        found = own.copy()
        undrawn = np.ones(len(own), dtype=bool)
        for context, fewest in ((left, self.fewest), (np.full_like(left, any_left), 1)):
            begin, end = (before[np.searchsorted(codes, (context + more) * any_left)] for more in (0, 1))
            place = np.searchsorted(codes, context * any_left + own)
            there = (place < len(codes)) & (own < any_left)
            there &= codes[np.where(there, place, 0)] == context * any_left + own if len(codes) else False
            first = before[place]
            count = np.where(there, before[np.where(there, place + 1, place)] - first, 0)
            others = end - begin - count
            at = np.minimum((chance * others).astype(np.int64), others - 1)
            at = begin + at + np.where(at >= first - begin, count, 0)
            now = undrawn & (others >= fewest)
            found[now] = codes[np.searchsorted(before, at[now], side="right") - 1] % any_left
            undrawn &= ~now
        return found

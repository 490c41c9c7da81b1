"""Texts as a checkpoint reads them: which are too long for it, and whose words are read only in part."""

from __future__ import annotations

from typing import Any

import numpy as np

from attentest.data.batches import Encoded
from attentest.data.corpus import Split
from attentest.data.vocabulary import Vocabulary
from attentest.errors import CheckpointError, InputError
from attentest.models.huggingface.building import framed_pieces, longest_allowed
from attentest.models.huggingface.pieces import MOST, Pieces
from attentest.models.huggingface.pretrained import Pretrained

__all__ = ["cut_short", "described", "fitting_pieces"]


def fitting_pieces(
    config: Any, tokenizer: Any, vocabulary: Vocabulary, *splits: Split, pair: bool = False, prompt: str = "{text}"
) -> Pieces:
    """The pieces of all words; texts that have more than the model of this configuration takes are refused."""
    pieces = framed_pieces(tokenizer, vocabulary, pair=pair, prompt=prompt)
    _refuse_foreign(pieces, config)
    allowed = longest_allowed(config, tokenizer)
    for split in splits:
        if allowed is not None and len(split):
            lengths = _summed(split, vocabulary, pieces.counts.cpu().numpy()) + pieces.frame.size
            _refuse_long(split, lengths, allowed)
    return pieces


def _refuse_foreign(pieces: Pieces, config: Any) -> None:
    """Refuse a tokenizer that has pieces which the model does not know."""
    known, largest = getattr(config.get_text_config(), "vocab_size", None), pieces.largest
    if isinstance(known, int) and largest >= known:
        raise CheckpointError(
            f"The tokenizer has a piece of number {largest}, and the model knows {known} of them: they do not belong "
            "together. Save the model's own tokenizer beside it."
        )


def _refuse_long(split: Split, lengths: np.ndarray, allowed: int) -> None:
    if (too_long := lengths > allowed).any():
        words = split.lengths[~too_long].max(initial=0)
        raise InputError(
            f"{int(too_long.sum())} of {len(split)} texts are longer than the model takes: the longest ("
            f"{split.ids[int(lengths.argmax())]}) has {int(lengths.max())} pieces of words, and {allowed} is the most. "
            f"Cut them (truncate, --truncate), or leave out texts of more than "
            f"{int(min(words, split.lengths[too_long].min() - 1))} words (max_tokens, --max-tokens)."
        )


def cut_short(subject: Pretrained, split: Split, vocabulary: Vocabulary) -> str:
    """How many texts have words of more pieces than are read, in words; "" where none has."""
    is_cut = np.isin(np.arange(len(vocabulary)), subject.pieces.cut)
    cut = int((_summed(split, vocabulary, is_cut) > 0).sum())
    return f"{cut} texts have words of more than {MOST} pieces, read by the first {MOST}" if cut else ""


def _summed(split: Split, vocabulary: Vocabulary, of_word: np.ndarray) -> np.ndarray:
    """A number of every word, summed over each text and, of pairs, its second one."""
    encoded, total = Encoded.of(split, vocabulary), np.zeros(len(split), dtype=np.int64)
    for values, offsets in (text for text in (encoded.text, encoded.second) if text is not None):
        sums = np.concatenate([[0], np.cumsum(of_word[values])])
        total += sums[offsets[1:]] - sums[offsets[:-1]]
    return total


def described(subject: Pretrained) -> str:
    """The model's class and size in a few words."""
    kinds = [
        (kind or "attention", [p for p in subject.places.places if p.kind == kind]) for kind in subject.places.kinds
    ]
    sizes = "; ".join(f"{kind} in {len(places)} layers of {places[0].heads} heads" for kind, places in kinds)
    return f"{type(subject.model).__name__} ({sizes})"

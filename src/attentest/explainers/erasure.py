"""Erasure: what a subject says when only some of the tokens are left, for many choices of tokens at once.

Every way of erasing leaves the manifold of texts a model was trained on in its own direction: deleted words leave
sentences nobody writes, replaced words leave embeddings no word has. So the way is a parameter, named in the findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int
from torch import Tensor

from attentest.data.batches import Batch, Sequences
from attentest.data.sentence_rows import Sentences
from attentest.data.vocabulary import PAD
from attentest.errors import InputError
from attentest.explainers.budget import in_slices, positions
from attentest.models.shared_work.same_words import Reader, distinct_words, reader_of, texts_at_once
from attentest.models.subject import Reading, Subject

__all__ = ["DRAW", "ERASURES", "Known", "check_erasure", "erased"]

#: Ways to erase: delete the token and encode again; put the unknown word, zeros or the mean embedding in its place;
#: zero its attention weight, renormalise the others and encode nothing again.
ERASURES = ("delete", "mask", "zero", "mean", "zero_attention")
#: One more: put a word of the corpus in its place (drawn_words.py). It means something only over many draws, so whoever
#: erases so says which words.
DRAW = "draw"
#: Weights that one rereading may hold.
WEIGHTS = 2_000_000


def check_erasure(mode: str) -> None:
    """Refuse a mode that is not one of ERASURES."""
    if mode not in ERASURES:
        raise InputError(f"Erasure {mode!r} must be one of {', '.join(ERASURES)}.")


@dataclass
class Known:
    """What erasing was found to leave of the texts of one batch, one way of erasing: it is computed once."""

    sets: np.ndarray | None = None
    logits: Float64[Tensor, "set class"] | None = None
    #: How texts of the batch's words are read, and which word stands at each position.
    reader: tuple[Reader, Int[Tensor, "batch position"]] | None = None

    def apart(self) -> Known:
        """What is known so far; what is added to it is forgotten: sets that hardly come again."""
        return Known(self.sets, self.logits, self.reader)

    def reader_of(self, subject: Subject, batch: Batch, mode: str) -> tuple[Reader, Int[Tensor, "batch position"]]:
        """How such texts are read; the word after all others is what stands in an erased one's place, if anything."""
        if self.reader is None:
            words, index = distinct_words(subject, batch)
            if mode != "delete":
                words = torch.cat([words, subject.baseline(mode)[None].to(words)])
            self.reader = reader_of(subject, words), index
        return self.reader

    def add(self, sets: np.ndarray, logits: Float64[Tensor, "set class"]) -> None:
        """Keep more of them, in the order of the sets."""
        if self.sets is not None and self.logits is not None:
            sets, logits = np.concatenate([self.sets, sets]), torch.cat([self.logits, logits])
        order = np.argsort(sets)
        self.sets, self.logits = sets[order], logits[torch.from_numpy(order).to(logits.device)]

    def learn(
        self, kept: Bool[Tensor, "batch alternative position"], logits: Float64[Tensor, "batch alternative class"]
    ) -> None:
        """Keep what is known already of texts with only some tokens left; those without any are passed over."""
        sets, row, chosen, inverse = _distinct(kept)
        first = torch.zeros(len(row), dtype=torch.long, device=kept.device)
        first[inverse] = torch.arange(len(inverse), device=kept.device)
        new = (self.places(sets) < 0) & chosen.any(-1).cpu().numpy()
        self.add(sets[new], logits.flatten(0, 1)[first[torch.from_numpy(new).to(kept.device)]])

    def learn_each(self, mask: Bool[Tensor, "batch position"], logits: Float64[Tensor, "batch position class"]) -> None:
        """The same of texts without one token each."""
        others = ~torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
        self.learn(mask[:, None] & others & mask[:, :, None], logits)

    def places(self, sets: np.ndarray) -> np.ndarray:
        """Where each set stands among those that are known, −1 where it does not."""
        if self.sets is None or not len(self.sets):
            return np.full(len(sets), -1)
        place = np.searchsorted(self.sets, sets).clip(max=len(self.sets) - 1)
        return np.where(self.sets[place] == sets, place, -1)


@torch.no_grad()
def erased(
    subject: Subject,
    batch: Batch,
    reading: Reading,
    keep: Bool[Tensor, "batch alternative item"],
    mode: str,
    known: Known | None = None,
    filled: Int[Tensor, "batch position"] | None = None,
) -> Float64[Tensor, "batch alternative class"]:
    """The logits when only the items (or the tokens) in ``keep`` are left; start and end symbols always stay.

    Alternatives that keep the same tokens of the same text are computed once, over several calls where ``known``
    is given. Where nothing is left to attend to (``delete`` and ``zero_attention`` without any token) the logits are
    not a number. ``filled`` are the words to put in the place of others, where the mode is ``draw``; what is known is
    known of one such filling.
    """
    if mode != DRAW:
        check_erasure(mode)
    if mode == "zero_attention":
        return _reread(reading, keep & reading.mask[:, None])
    kept = reading.spread(keep) & batch.mask[:, None]
    sets, row, chosen, inverse = _distinct(kept)
    known = Known() if known is None else known
    new = known.places(sets) < 0
    if new.any():
        fresh = torch.from_numpy(new).to(kept.device)
        some = row[fresh], chosen[fresh]
        if filled is None:
            read = _read(subject, batch, *some, mode, *known.reader_of(subject, batch, mode))
        else:
            read = _read_filled(subject, batch, *some, filled)
        known.add(sets[new], read)
    assert known.logits is not None
    place = torch.from_numpy(known.places(sets)).to(kept.device)
    return known.logits[place[inverse]].view(*kept.shape[:2], -1)


def _read(
    subject: Subject, batch: Batch, row: Tensor, chosen: Tensor, mode: str, read: Reader, index: Tensor
) -> Float64[Tensor, "set class"]:
    """The logits of these rows' texts with only the chosen tokens left."""
    if mode == "delete":
        here = torch.arange(chosen.shape[-1], device=chosen.device) < batch.text.lengths[:, None]
        left = chosen | (here & ~batch.mask)[row]
        index, lengths = index[row], left.sum(-1)
        which = chosen.any(-1).nonzero()[:, 0]
    else:
        left = torch.ones_like(chosen)
        index = torch.where(chosen | ~batch.mask[row], index[row], int(index.max()) + 1)
        lengths = batch.text.lengths[row]
        which = torch.arange(len(row), device=row.device)
    logits = torch.full((len(row), subject.classes), torch.nan, dtype=torch.float64, device=row.device)
    for places in _alike(subject, lengths, which):
        texts, order = _moved_together(batch, row[places], left[places], lengths[places])
        logits[places] = _within_memory(read, texts, index[places].gather(1, order)).double()
    return logits


def _read_filled(
    subject: Subject, batch: Batch, row: Tensor, chosen: Tensor, filled: Tensor
) -> Float64[Tensor, "set class"]:
    """The logits of these rows' texts with other words in the place of those that are not chosen."""
    logits = torch.empty((len(row), subject.classes), dtype=torch.float64, device=row.device)
    lengths = batch.text.lengths[row]
    for places in _alike(subject, lengths, torch.arange(len(row), device=row.device)):
        of, width = row[places], int(lengths[places].max())
        tokens = torch.where(chosen[places] | ~batch.mask[of], batch.text.tokens[of], filled[of])
        texts = batch[of].with_text(replace(batch.text[of], tokens=tokens).narrowed(width))
        words, index = distinct_words(subject, texts)
        logits[places] = _within_memory(reader_of(subject, words), texts, index).double()
    return logits


def _within_memory(read: Reader, texts: Batch, index: Tensor) -> Tensor:
    """All texts at once or, where memory runs out, in halves."""
    return torch.cat(in_slices(lambda part: read(texts[part], index[part]), len(texts), len(texts)))


def _reread(reading: Reading, kept: Tensor) -> Tensor:
    """Weights of erased tokens zeroed and the others renormalised, a few alternatives at a time."""
    weights = reading.weights.double()
    parts = []
    for some in kept.split(max(1, WEIGHTS // max(1, weights.numel())), dim=1):
        left = weights[:, None] * some
        total = left.sum(-1, keepdim=True)
        logits = reading.reread(left / total.clamp(min=1e-300)).double()
        parts.append(torch.where(total > 0, logits, torch.nan))
    return torch.cat(parts, dim=1)


def _distinct(
    kept: Tensor,
) -> tuple[np.ndarray, Int[Tensor, " distinct"], Bool[Tensor, "distinct position"], Tensor]:
    """Every different set of every instance once, as bytes; its instance, its tokens; where each alternative's is."""
    count, alternatives, width = kept.shape
    flat = kept.reshape(-1, width).cpu().numpy()
    row = np.repeat(np.arange(count), alternatives)
    record = np.concatenate([row.astype(">u4")[:, None].view(np.uint8), np.packbits(flat, axis=1)], axis=1)
    whole = np.ascontiguousarray(record).view(np.dtype((np.void, record.shape[1])))[:, 0]
    sets, first, inverse = np.unique(whole, return_index=True, return_inverse=True)
    to = kept.device
    places = torch.from_numpy(first).to(to)
    return sets, torch.from_numpy(row).to(to)[places], kept.reshape(-1, width)[places], torch.from_numpy(inverse).to(to)


def _alike(subject: Subject, lengths: Tensor, which: Tensor) -> Iterator[Tensor]:
    """Indices of like length, longest first, as many at once as are best read so."""
    most = positions(lengths.device) // 2
    order = which[lengths[which].argsort(descending=True, stable=True)]
    widths = lengths[order].tolist()
    start = 0
    while start < len(widths):
        end = start + texts_at_once(subject, widths[start], most)
        yield order[start:end]
        start = end


def _moved_together(batch: Batch, row: Tensor, left: Tensor, lengths: Tensor) -> tuple[Batch, Tensor]:
    """The texts of these rows with only the positions ``left``, and where each of these positions was."""
    width = int(lengths.max())
    order = (~left).byte().argsort(dim=-1, stable=True)[:, :width]
    inside = torch.arange(width, device=order.device) < lengths[:, None]
    tokens = torch.where(inside, batch.text.tokens[row].gather(1, order), PAD)
    real, cut = batch.mask[row].gather(1, order) & inside, batch.text.sentences
    sentences = None if cut is None else Sentences(cut.labels[row].gather(1, order).where(inside, -1))
    text = Sequences(tokens, lengths, real, sentences)
    return batch[row].with_text(text), order

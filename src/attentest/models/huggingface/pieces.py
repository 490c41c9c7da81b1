"""From words to the pieces that a model of the Transformers library reads, and back.

A batch holds words; every word of the vocabulary was cut into pieces once, with a space before it, as in running text.
A batch of pieces is then a lookup: no text is tokenised again, however often words are erased. Round the words stands
a frame of special tokens (and of a prompt, where there is one), which is never erased and never weighed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.data.batches import Batch, Encoded
from attentest.data.vocabulary import END, PAD, START, UNKNOWN
from attentest.errors import InputError
from attentest.models.huggingface.safe_loading import tokenizing

__all__ = ["MOST", "OTHER", "SPECIAL", "Frame", "Layout", "Pieces", "frame_of", "pieces_of"]

#: The owner of a slot of none of the first text's words: special tokens (and padding), or prompt and second text.
SPECIAL, OTHER = -1, -2
#: Words of more pieces, such as addresses of web pages, are read by their first ones.
MOST = 16


@dataclass(frozen=True)
class Frame:
    """The pieces before, between and after the texts, and the type that the model gives each part."""

    before: tuple[int, ...]
    between: tuple[int, ...]
    after: tuple[int, ...]
    #: The types of: before, the first text, between, the second text, after.
    types: tuple[int, int, int, int, int] = (0, 0, 0, 0, 0)
    #: How many pieces of a prompt end what stands before the text, and begin what stands after it.
    prompt: tuple[int, int] = (0, 0)

    @property
    def size(self) -> int:
        """How many pieces it takes."""
        return len(self.before) + len(self.between) + len(self.after)


@dataclass(frozen=True)
class Layout:
    """A batch of pieces: each slot's piece and type, whether it is real, and the position of the word it belongs to."""

    ids: Int[Tensor, "batch slot"]
    types: Int[Tensor, "batch slot"]
    mask: Bool[Tensor, "batch slot"]
    #: The word's position in the batch's first text; SPECIAL or OTHER where it is none of its words.
    owner: Int[Tensor, "batch slot"]
    #: Where each slot is found among all candidates: the frame and every piece that any word might have.
    order: Int[Tensor, "batch slot"]
    #: The number of word positions of the batch.
    width: int

    @property
    def lengths(self) -> Int[Tensor, " batch"]:
        """The number of real slots."""
        return self.mask.sum(-1)

    def __getitem__(self, part: slice | Int[Tensor, " copy"]) -> Layout:
        """Some of the texts, any of them several times."""
        parts = (self.ids[part], self.types[part], self.mask[part], self.owner[part], self.order[part])
        return Layout(*parts, self.width)

    @property
    def special(self) -> Bool[Tensor, "batch slot"]:
        """Which slots are special tokens."""
        return self.mask & (self.owner == SPECIAL)

    @property
    def other(self) -> Bool[Tensor, "batch slot"]:
        """Which slots are of the prompt and the second text."""
        return self.owner == OTHER

    def pooled(self, values: Float[Tensor, "batch *rest slot"]) -> Float[Tensor, "batch *rest word"]:
        """Values of slots summed over the words they belong to; what belongs to no word is left out."""
        place = torch.where(self.owner < 0, self.width, self.owner)
        place = place.view(len(place), *[1] * (values.ndim - 2), -1).expand(values.shape)
        return values.new_zeros(*values.shape[:-1], self.width + 1).scatter_add(-1, place, values)[..., :-1]

    def spread(self, values: Float[Tensor, "batch *rest word"], other: float) -> Float[Tensor, "batch *rest slot"]:
        """Values of words at each of their slots, ``other`` at slots of no word."""
        place = self.owner.view(len(self.owner), *[1] * (values.ndim - 2), -1)
        found = values.gather(-1, place.clamp(min=0).expand(*values.shape[:-1], -1))
        return found.where(place >= 0, other)


class Pieces(torch.nn.Module):
    """The pieces of every word of a vocabulary, and the frame."""

    table: Int[Tensor, "word piece"]
    counts: Int[Tensor, " word"]

    def __init__(
        self,
        table: Int[Tensor, "word piece"],
        counts: Int[Tensor, " word"],
        frame: Frame,
        pad: int,
        cut: Sequence[int] = (),
    ) -> None:
        super().__init__()
        self.register_buffer("table", table, persistent=False)
        self.register_buffer("counts", counts, persistent=False)
        self.frame, self.pad = frame, pad
        #: The words that are read by their first pieces alone.
        self.cut = tuple(cut)

    @property
    def most(self) -> int:
        """The largest number of pieces of a word."""
        return self.table.shape[1]

    @property
    def largest(self) -> int:
        """The largest number that a piece has."""
        frame = self.frame
        return max(int(self.table.max()), *frame.before, *frame.between, *frame.after, self.pad)

    def lengths(self, batch: Batch) -> Int[Tensor, " batch"]:
        """How many pieces each text takes, with its frame."""
        texts = [batch.text] if batch.second is None else [batch.text, batch.second]
        return sum(self.counts[text.tokens].sum(-1) for text in texts) + self.frame.size  # type: ignore[return-value]

    def sizes(self, encoded: Encoded) -> np.ndarray:
        """The same of every text of a split."""
        counts, size = self.counts.cpu().numpy(), np.full(len(encoded), self.frame.size)
        for values, offsets in (text for text in (encoded.text, encoded.second) if text is not None):
            total = np.concatenate([[0], np.cumsum(counts[values])])
            size = size + total[offsets[1:]] - total[offsets[:-1]]
        return size

    def layout(self, batch: Batch) -> Layout:
        """The batch as pieces, real ones moved together to the left."""
        frame, rows = self.frame, len(batch)
        parts = [self._fixed(frame.before, rows), self._words(batch.text.tokens), self._fixed(frame.between, rows)]
        if batch.second is not None:
            parts += [self._words(batch.second.tokens)]
        parts += [self._fixed(frame.after, rows)]
        types = frame.types if batch.second is not None else (*frame.types[:3], frame.types[4])
        ids, there = (torch.cat(some, dim=1) for some in zip(*parts, strict=True))
        sizes = torch.tensor([part[0].shape[1] for part in parts], device=ids.device)
        kind = torch.tensor(types, device=ids.device).repeat_interleave(sizes)
        whose = torch.full_like(kind, OTHER)
        begin, end = len(frame.before), len(whose) - len(frame.after)
        here = slice(begin, begin + parts[1][0].shape[1])
        whose[: begin - frame.prompt[0]] = SPECIAL
        whose[here.stop : here.stop + len(frame.between)] = SPECIAL
        whose[end + frame.prompt[1] :] = SPECIAL
        whose[here] = torch.arange(batch.text.tokens.shape[1], device=ids.device).repeat_interleave(self.most)
        width = int(there.sum(-1).max()) if rows else 0
        order = (~there).byte().argsort(dim=-1, stable=True)[:, :width]
        real = there.gather(1, order)
        return Layout(
            ids.gather(1, order).where(real, self.pad),
            kind[order].where(real, 0),
            real,
            whose[order].where(real, SPECIAL),
            order,
            batch.text.tokens.shape[1],
        )

    def _fixed(self, ids: Sequence[int], rows: int) -> tuple[Tensor, Tensor]:
        values = torch.tensor(ids, dtype=torch.long, device=self.table.device).expand(rows, -1)
        return values, torch.ones_like(values, dtype=torch.bool)

    def _words(self, tokens: Int[Tensor, "batch position"]) -> tuple[Tensor, Tensor]:
        there = torch.arange(self.most, device=tokens.device) < self.counts[tokens][..., None]
        return self.table[tokens].flatten(1), there.flatten(1)

    def there(self, tokens: Int[Tensor, "batch position"]) -> Bool[Tensor, "batch position piece"]:
        """Which of a word's pieces there are."""
        return torch.arange(self.most, device=tokens.device) < self.counts[tokens][..., None]


@tokenizing()
def pieces_of(tokenizer: Any, words: Sequence[str], frame: Frame, pad: int) -> Pieces:
    """The pieces of every word of a vocabulary.

    The vocabulary's own symbols for padding, start and end have no pieces: the frame stands in their place.
    """
    spoken = words[END + 1 :]
    lead = tokenizer("x", add_special_tokens=False)["input_ids"]
    found: list[list[int]] = []
    if spoken:
        # A word stands behind another one, so that tokenizers that mark the beginning of words see it there.
        both = tokenizer([f"x {word}" for word in spoken], add_special_tokens=False)["input_ids"]
        alone = [place for place, ids in enumerate(both) if ids[: len(lead)] != lead]
        found = [ids[len(lead) :] for ids in both]
        for place in alone:
            found[place] = tokenizer(spoken[place], add_special_tokens=False)["input_ids"]
    stand_ins = (tokenizer.unk_token_id, tokenizer.mask_token_id, tokenizer.eos_token_id)
    unknown = next((piece for piece in stand_ins if piece is not None), pad)
    short = [ids[:MOST] or [unknown] for ids in found]
    special: dict[int, list[int]] = {PAD: [], UNKNOWN: [unknown], START: [], END: []}
    every = [*(special[place] for place in range(END + 1)), *short]
    counts = torch.tensor([len(ids) for ids in every])
    table = torch.full((len(every), max(1, int(counts.max()))), pad, dtype=torch.long)
    for place, ids in enumerate(every):
        table[place, : len(ids)] = torch.tensor(ids, dtype=torch.long)
    cut = [place for place, ids in enumerate(found, END + 1) if len(ids) > MOST]
    return Pieces(table, counts, frame, pad, cut)


@tokenizing()
def frame_of(tokenizer: Any, *, pair: bool, prompt: str = "{text}") -> Frame:
    """What the tokenizer, and a prompt, put round a text or a pair of texts."""
    if not prompt.count("{text}") == 1:
        raise InputError(f"prompt={prompt!r} must hold {{text}} once, as in 'Review: {{text}} Sentiment:'.")
    head, _, tail = prompt.partition("{text}")
    lead, end = (
        tokenizer(part, add_special_tokens=False)["input_ids"] if part.strip() else [] for part in (head, tail)
    )
    coded = tokenizer("x", "x") if pair else tokenizer("x")
    ids, kinds = list(coded["input_ids"]), coded.get("token_type_ids")
    plain = list(tokenizer("x", add_special_tokens=False)["input_ids"])
    found = [place for place in range(len(ids)) if ids[place : place + len(plain)] == plain]
    if not plain or len(found) < 1 + pair:
        raise InputError(
            "The tokenizer does not leave a plain word as it is: give the tokenizer that the model was made with."
        )
    first = range(found[0], found[0] + len(plain))
    second = range(found[-1], found[-1] + len(plain)) if pair else range(0)
    types = [0] * len(ids) if kinds is None else kinds
    last = second if pair else first
    before, after = ids[: first[0]], ids[last[-1] + 1 :]
    between = ids[first[-1] + 1 : second[0]] if pair else []

    def kind(places: Sequence[int]) -> int:
        return types[places[0]] if places else 0

    return Frame(
        (*before, *lead),
        tuple(between),
        (*end, *after),
        (
            kind(range(first[0])),
            kind(first),
            kind(range(first[-1] + 1, second[0])) if pair else 0,
            kind(second),
            kind(range(last[-1] + 1, len(ids))),
        ),
        (len(lead), len(end)),
    )

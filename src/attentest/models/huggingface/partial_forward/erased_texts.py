"""The logits of many texts, nothing else of them read.

Erased texts differ in length. They are read in passes of texts of like numbers of pieces, so that little is padding,
and small enough for a core's cache. Where the output depends on one row of the last layer, the layer stops at its
attention and goes on for that row alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.memory import give_back_if_grown
from attentest.models.huggingface.attending import LogitsAlone, Pass
from attentest.models.huggingface.partial_forward.above_site import AboveSite
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.site import Site
from attentest.models.products import suits

if TYPE_CHECKING:
    from attentest.models.huggingface.pretrained import Pretrained

__all__ = ["CALL", "SLOTS", "logits_of", "logits_of_many", "of_like_length"]

#: Slots that one pass may hold.
SLOTS = {"cpu": 2048, "cuda": 262_144}
#: What a pass costs by itself, in slots: so many may be padding, that shorter texts go with it.
CALL = {"cpu": 64, "cuda": 16_384}


class _Stopped(Exception):
    """The last layer has given what is wanted of it."""


@torch.no_grad()
def logits_of_many(
    subject: Pretrained,
    batch: Batch,
    words: Float[Tensor, "word embedding"] | None = None,
    index: Int[Tensor, "batch position"] | None = None,
) -> Float[Tensor, "batch class"]:
    """The logits of every text; ``words`` and ``index`` put other embeddings in the place of its words' own."""
    lengths = subject.pieces.lengths(batch)
    out = torch.zeros(len(batch), subject.classes, dtype=subject.model.dtype, device=subject.device)
    for rows in of_like_length(lengths):
        layout = subject.pieces.layout(batch[rows])
        given = None if words is None or index is None else _embedded(subject, layout, words, index[rows])
        out[rows] = logits_of(subject, layout, given)
        give_back_if_grown()
    return out


def of_like_length(lengths: Int[Tensor, " batch"]) -> Iterator[Int[Tensor, " row"]]:
    """Rows of like length, longest first: as many as a pass may hold, with no more padding than a pass is worth."""
    kind = lengths.device.type
    most, call = (of.get(kind, of["cpu"]) for of in (SLOTS, CALL))
    order = lengths.argsort(descending=True, stable=True)
    each = lengths[order].tolist()
    start = 0
    while start < len(each):
        longest, end, padding = each[start], start + 1, 0
        last = min(len(each), start + max(1, most // max(1, longest)))
        while end < last and (padding := padding + longest - each[end]) <= call:
            end += 1
        yield order[start:end]
        start = end


def _embedded(
    subject: Pretrained, layout: Layout, words: Float[Tensor, "word embedding"], index: Int[Tensor, "batch position"]
) -> Float[Tensor, "batch slot piece"]:
    """The embedding of every slot: of the word's piece, from ``words``, or of a piece of the frame or second text."""
    most, begin = subject.pieces.most, len(subject.pieces.frame.before)
    word = index.gather(1, layout.owner.clamp(min=0))
    found = words.view(len(words) * most, -1)[word * most + (layout.order - begin) % most]
    return torch.where((layout.owner >= 0)[..., None], found, subject.table(layout.ids))


def logits_of(subject: Pretrained, layout: Layout, embeddings: Tensor | None) -> Float[Tensor, "batch class"]:
    """The logits of one pass, of the last layer's one row where that is all they depend on."""
    if subject.quick and suits(subject.table.weight):
        real = None if bool(layout.mask.all()) else layout.mask
        alone = LogitsAlone(real, len(subject.places.stacks) - 1)
        return subject.passed(Pass(embeddings=embeddings, logits_alone=alone), layout)
    place = len(subject.places.places) - 1
    above = AboveSite(subject, Site(place, None, subject.rows), layout)
    if subject.start is not None or not above.is_narrow:
        return subject.passed(Pass(embeddings=embeddings), layout)

    def stop(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        above.keep_row(weights, values, allowed)
        raise _Stopped

    with contextlib.suppress(_Stopped):
        subject.passed(Pass(edits={place: stop}, embeddings=embeddings, on_layer=above.below.keep), layout)
    return above.own_row()

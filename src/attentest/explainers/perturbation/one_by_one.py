"""Every token of a text taken out in turn, by the cheapest way that a model has."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.budget import in_slices
from attentest.explainers.erasure import ERASURES, Known, erased
from attentest.measures.packing import by_length, cheapest_cuts, consecutive
from attentest.models.copies import copies
from attentest.models.networks.classifier import is_shareable
from attentest.models.parts.bidirectional import BidirectionalNetwork
from attentest.models.shared_work.deletion import weighs_by_energy
from attentest.models.shared_work.substitution import replace_each, replaceable
from attentest.models.subject import Reading, Subject

__all__ = ["deleted", "learn_each", "replaced"]

#: Positions × positions that one batch may hold: a core's cache is small, a GPU waits for every step.
DELETED, REPLACED = {"cpu": 30_000, "cuda": 2_500_000}, 6_000_000
#: Positions that go through a CPU together where little is kept of each pair, and numbers that may be kept then.
POSITIONS, NUMBERS = 3_400, 4_000_000
#: What one step costs by itself on a CPU, in pairs of positions.
STEP = 60.0
#: Ways of taking words out that leave all others as they are.
WORDS = tuple(mode for mode in ERASURES if mode != "zero_attention")


@torch.no_grad()
def learn_each(known: Known, subject: Subject, batch: Batch, reading: Reading, mode: str) -> None:
    """Texts without one token each are known from here on, where that is cheaper than reading them as any others."""
    if reading.groups is not None or mode not in WORDS or not replaceable(subject):
        return
    mask = reading.mask
    each = deleted(subject, batch, mask) if mode == "delete" else replaced(subject, batch, reading, mode)
    known.learn_each(mask, each)


def deleted(subject: Subject, batch: Batch, mask: Bool[Tensor, "batch token"]) -> Float[Tensor, "batch token class"]:
    """The logits without each item, in double precision; the batch is cut, each part as wide as its longest text."""
    budget, few = DELETED.get(subject.device.type, DELETED["cpu"]), _kept_of_each(subject)
    lengths = batch.text.lengths if mask.shape == batch.mask.shape else mask.sum(-1)
    parts: Iterable[slice | Tensor]
    if few and subject.device.type == "cpu":
        parts = cheapest_cuts(lengths, STEP, lambda width: min(POSITIONS // width, NUMBERS // (width**2 * few)))
    else:
        parts = consecutive(lengths, budget, power=2)
    out = torch.zeros(*mask.shape, subject.classes, dtype=torch.float64, device=mask.device)
    for rows in parts:
        part = batch[rows]
        found = subject.delete_each(part.narrowed(int(part.text.lengths.max())))
        out[rows, : found.shape[1]] = found.double()
    return out


def _kept_of_each(subject: Subject) -> int:
    """Numbers that are kept of every position without another, where these are an energy and values; else 0."""
    if not is_shareable(subject) or subject.architecture.query or not weighs_by_energy(subject.attention):
        return 0
    if not isinstance(subject.encoder, BidirectionalNetwork):
        return 0
    return 1 + (subject.classes if subject.head.affine else subject.encoder.size)


def replaced(subject: Subject, batch: Batch, reading: Reading, baseline: str) -> Float64[Tensor, "batch token class"]:
    """The logits with each token's embedding replaced; of padding, those of the whole text."""
    width = batch.mask.shape[1]
    if not replaceable(subject):
        others = ~torch.eye(width, dtype=torch.bool, device=batch.mask.device)
        return erased(subject, batch, reading, others.expand(len(batch), -1, -1), baseline)
    known, instead = subject, subject.baseline(baseline)
    kept = 1 + (known.classes if known.head.affine else known.encoder.size)
    if batch.mask.device.type == "cpu":
        parts = cheapest_cuts(
            batch.text.lengths, STEP, lambda long: min(POSITIONS // long, NUMBERS // (long**2 * kept))
        )
    else:
        parts = (rows for rows, _ in by_length(batch.text.lengths, REPLACED, power=2))
    out = reading.logits.double()[:, None].repeat(1, width, 1)
    for rows in parts:
        texts = copies(batch, rows)
        found = in_slices(lambda part, texts=texts: replace_each(known, texts[part], instead), len(rows), len(rows))
        out[rows, : texts.mask.shape[1]] = torch.cat(found).double()
    return out

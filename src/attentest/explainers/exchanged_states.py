"""States exchanged for those of a text that says nothing: what does the output take from each of them?

Attention's weights stay, so an effect has the weight as a factor and what the state says as the other: a state of much
weight that says what it would say in any text does nothing.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from attentest.data.batches import Batch
from attentest.data.vocabulary import UNKNOWN
from attentest.explainers.erasure import WEIGHTS, erased
from attentest.models.subject import AffineReading, DecodedReading, Reading, Subject

__all__ = ["exchanged_states", "unknown_words", "what_states_say"]


@torch.no_grad()
def exchanged_states(
    subject: Subject,
    batch: Batch,
    reading: Reading,
    keep: Bool[Tensor, "batch alternative item"],
    nothing: Reading | None = None,
) -> Float64[Tensor, "batch alternative class"]:
    """The logits when only the states in ``keep`` stay and the others are those of as many unknown words.

    ``nothing`` is what the subject reads of ``unknown_words``, where that is known. Where a model's states cannot be
    exchanged, their weights are taken out and the others renormalised.
    """
    if batch.mask.shape != reading.mask.shape:
        return erased(subject, batch, reading, keep, "zero_attention")
    nothing = subject.read(unknown_words(batch)) if nothing is None else nothing
    own, blank = (what_states_say(one, add_up=reading.token_logits is not None) for one in (reading, nothing))
    weights = reading.weights.double().where(reading.mask, 0.0)
    parts = []
    for some in keep.split(max(1, WEIGHTS // max(1, own.numel())), dim=1):
        if not isinstance(reading, AffineReading | DecodedReading):
            logits = reading.with_states(torch.where(some[..., None], own[:, None], blank[:, None]))
            if logits is None:
                return erased(subject, batch, reading, keep, "zero_attention")
            parts.append(logits.double())
            continue
        left = weights[:, None] * some
        context = left @ own + (weights[:, None] - left) @ blank
        if isinstance(reading, DecodedReading):
            context = reading.decode(context.to(reading.states.dtype))
        parts.append(context.double())
    return torch.cat(parts, dim=1)


def unknown_words(batch: Batch) -> Batch:
    """The same texts with every word unknown."""
    return batch.with_text(replace(batch.text, tokens=batch.text.tokens.where(~batch.mask, UNKNOWN)))


def what_states_say(reading: Reading, *, add_up: bool) -> Float64[Tensor, "batch token says"]:
    """What states say: their logits where these add up, else the states themselves."""
    logits = reading.token_logits
    return (logits if add_up and logits is not None else reading.states).double()

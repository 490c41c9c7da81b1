"""What challenges that replace all weights share: how far the prediction moves and where it goes, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.challenges.challenge import Examination
from attentest.measures.divergence import total_variation
from attentest.measures.rounding import SINGLE

__all__ = ["Reread", "each_alone", "reachable", "reread"]

#: Weights, or logits, that one rereading may hold.
CELLS = 8_000_000


@dataclass(frozen=True)
class Reread:
    """The prediction under other weights, beside that under the model's own."""

    #: Total variation distance from the prediction under the own weights.
    change: Float[Tensor, "batch alternative"]
    #: The predicted class.
    decided: Int[Tensor, "batch alternative"]
    #: The largest change of a difference between the predicted class's logit and another's.
    moved: Float[Tensor, "batch alternative"]


def reread(examination: Examination, weights: Float[Tensor, "batch alternative token"]) -> Reread:
    """The prediction under every alternative, as many of them at a time as there is room for."""
    own = examination.probabilities[:, None]
    rows, alternatives, width = weights.shape
    size = max(1, CELLS // max(1, rows * max(width, own.shape[-1])))
    change = own.new_empty(rows, alternatives)
    decided = torch.empty(rows, alternatives, dtype=torch.long, device=own.device)
    moved, ahead = torch.empty_like(change), _ahead(examination.logits, examination)
    for start in range(0, alternatives, size):
        part = slice(start, start + size)
        logits = examination.reading.reread(weights[:, part]).double()
        change[:, part] = total_variation(logits.softmax(-1), own)
        decided[:, part] = logits.argmax(-1)
        moved[:, part] = (_ahead(logits, examination) - ahead[:, None]).abs().amax(-1)
    return Reread(change, decided, moved)


def reachable(examination: Examination) -> Float[Tensor, " batch"]:
    """How far weights can move such a difference: the range over states, each with all the weight.

    What is moved, over this, depends neither on the temperature of a model nor on a bias of its logits. NaN where no
    weights move anything.
    """
    mask = examination.mask
    lowest, highest = (torch.full_like(examination.logits, sign * torch.inf) for sign in (1, -1))
    for part, logits in each_alone(examination):
        ahead, real = _ahead(logits, examination), mask[:, part, None]
        lowest = torch.minimum(lowest, ahead.masked_fill(~real, torch.inf).amin(1))
        highest = torch.maximum(highest, ahead.masked_fill(~real, -torch.inf).amax(1))
    reach = (highest - lowest).amax(-1)
    floor = SINGLE * examination.logits.abs().amax(-1).clamp(min=1.0)
    return reach.where(reach > floor, torch.nan)


def each_alone(examination: Examination) -> Iterator[tuple[Tensor, Float[Tensor, "batch part class"]]]:
    """The logits with all weight on one item, for some of the items at a time, by their places; padding too."""
    reading, mask = examination.reading, examination.mask
    rows, width = mask.shape
    size = max(1, CELLS // max(1, rows * max(width, reading.logits.shape[-1])))
    for part in torch.arange(width, device=mask.device).split(size):
        if reading.token_logits is not None:
            yield part, reading.token_logits[:, part].double()
        else:
            alone = torch.nn.functional.one_hot(part, width).double()
            yield part, reading.reread(alone.expand(rows, -1, -1)).double()


def _ahead(logits: Float[Tensor, "batch *alternative class"], examination: Examination) -> Tensor:
    """How far the predicted class is ahead of each class."""
    place = examination.logits.argmax(-1).view(-1, *[1] * (logits.ndim - 1)).expand(*logits.shape[:-1], 1)
    return logits.gather(-1, place) - logits

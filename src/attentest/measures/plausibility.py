"""Agreement of scores with marks on tokens: how far the highest scores lie where the marks are, after ERASER.

Top tokens are as many as the text itself has marks; ERASER takes the corpus's mean number of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

__all__ = ["SpanMatch", "area_under_precision_recall", "as_many_as_marked", "span_match", "token_overlap"]

#: Two spans match when they share at least this of their union.
MATCH = 0.5


def as_many_as_marked(
    scores: Float[Tensor, "batch token"], marked: Bool[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]
) -> Bool[Tensor, "batch token"]:
    """The top tokens, as many as are marked; ties go to the lowest index."""
    order = scores.double().masked_fill(~mask, -math.inf).argsort(dim=-1, descending=True, stable=True)
    here = torch.arange(mask.shape[-1], device=mask.device).expand_as(order)
    rank = torch.empty_like(order).scatter_(-1, order, here)
    return (rank < (marked & mask).sum(-1, keepdim=True)) & mask


def token_overlap(
    chosen: Bool[Tensor, "batch token"], marked: Bool[Tensor, "batch token"]
) -> tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]:
    """F1 of the chosen tokens against the marked ones, and intersection over union; NaN where both are empty."""
    both, either = (chosen & marked).sum(-1).double(), (chosen | marked).sum(-1).double()
    return 2 * both / (both + either), both / either


class SpanMatch(NamedTuple):
    """Of the chosen runs of tokens, the share that match a marked run, and that number over the marked runs."""

    precision: Float[Tensor, " batch"]
    recall: Float[Tensor, " batch"]

    @property
    def f1(self) -> Float[Tensor, " batch"]:
        """Their harmonic mean; 0 where nothing matches."""
        total = self.precision + self.recall
        return torch.where(total == 0, 0.0, 2 * self.precision * self.recall / total)


def span_match(chosen: Bool[Tensor, "batch token"], marked: Bool[Tensor, "batch token"]) -> SpanMatch:
    """Runs of tokens that match: their intersection is at least half of their union. NaN where there are no runs."""
    ours, theirs = _runs(chosen), _runs(marked)
    common = ours @ theirs.mT
    sizes = [runs.sum(-1) for runs in (ours, theirs)]
    union = sizes[0][:, :, None] + sizes[1][:, None, :] - common
    matched = ((common > 0) & (common >= MATCH * union)).any(-1).sum(-1).double()
    counts = [(size > 0).sum(-1).double() for size in sizes]
    return SpanMatch(matched / counts[0], matched / counts[1])


def _runs(flags: Bool[Tensor, "batch token"]) -> Float[Tensor, "batch run token"]:
    """The longest runs of tokens without a gap, one row of ones each; rows of zeros fill up."""
    before = torch.nn.functional.pad(flags, (1, 0))[:, :-1]
    number = (flags & ~before).cumsum(-1)
    most = int(number.max()) if flags.numel() else 0
    runs = torch.arange(1, max(1, most) + 1, device=flags.device)
    return ((number[:, None] == runs[:, None]) & flags[:, None]).double()


def area_under_precision_recall(
    scores: Float[Tensor, "batch token"], marked: Bool[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]
) -> Float[Tensor, " batch"]:
    """The area under straight lines between the points (recall, precision) of all thresholds, from (0, 1) on.

    ERASER's AUPRC; average precision is the area under steps. NaN where no token is marked.
    """
    wanted = marked & mask
    falling, order = scores.double().neg().masked_fill(~mask, math.inf).sort(-1)
    found = wanted.gather(-1, order).cumsum(-1).double()
    retrieved = torch.arange(1, mask.shape[-1] + 1, device=mask.device).expand_as(found)
    # Tokens that score the same enter together: only the last of them is a point of the curve.
    following = torch.nn.functional.pad(falling[:, 1:], (0, 1), value=math.nan)
    point = (following != falling) & (retrieved <= mask.sum(-1, keepdim=True))
    recall, precision = found / wanted.sum(-1, keepdim=True), found / retrieved
    last = torch.where(point, retrieved, 0).cummax(-1).values
    last = torch.nn.functional.pad(last, (1, 0))[:, :-1]
    start = [torch.nn.functional.pad(values, (1, 0), value=at) for values, at in ((recall, 0.0), (precision, 1.0))]
    before = [values.gather(-1, last) for values in start]
    areas = (recall - before[0]) * (precision + before[1]) / 2
    return torch.where(point, areas, 0.0).sum(-1).where(wanted.any(-1), math.nan)

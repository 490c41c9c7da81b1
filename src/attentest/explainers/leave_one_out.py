"""Leave-one-out: how the prediction changes when a token is really deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.measures.divergence import total_variation
from attentest.models.subject import Reading, Subject

__all__ = ["LeaveOneOut"]

#: Positions × positions that one deletion batch may hold.
BUDGET = 30_000


@dataclass(frozen=True)
class LeaveOneOut(Explainer):
    """TVD(ŷ(x), ŷ(x without token t)), the sequence encoded again without it."""

    name: ClassVar[str] = "leave_one_out"
    summary: ClassVar[str] = "change of the prediction when the token is deleted and the rest encoded again"
    reference: ClassVar[str] = "Jain & Wallace 2019, algorithm 1; Li et al. 2016"
    cost: ClassVar[str] = "T forward passes, shared prefixes computed once"

    @torch.no_grad()
    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Deletions of several instances at a time, as many as the memory budget allows."""
        width = batch.mask.shape[1]
        size = max(1, BUDGET // width**2)
        parts = [subject.delete_each(batch[i : i + size]) for i in range(0, len(batch), size)]
        without = torch.cat(parts).double().softmax(-1)
        whole = reading.logits.double().softmax(-1)[:, None]
        return Attribution(torch.where(batch.mask, total_variation(without, whole), 0.0))

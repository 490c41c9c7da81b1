"""Leave-one-out: how the prediction changes when a token is really deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.perturbation.one_by_one import deleted
from attentest.explainers.shared import Shared
from attentest.measures.divergence import total_variation
from attentest.models.capabilities import ReadsMany
from attentest.models.subject import Reading, Subject

__all__ = ["LeaveOneOut"]


@dataclass(frozen=True)
class LeaveOneOut(Explainer):
    """TVD(ŷ(x), ŷ(x without token t)), the sequence encoded again without it.

    Token *t* is really taken out of the text and the rest is encoded again, so its traces in all other states are
    gone too. This asks about the *token*.
    """

    name: ClassVar[str] = "leave_one_out"
    summary: ClassVar[str] = "change of the prediction when the token is deleted and the rest encoded again"
    reference: ClassVar[str] = "Jain & Wallace 2019, algorithm 1; Li et al. 2016"
    erases: ClassVar[str] = "tokens"
    cost: ClassVar[str] = "T forward passes, shared prefixes computed once"

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Deletions of several instances at a time, as many as the memory budget allows."""
        return self.explain_sharing(Shared(subject, batch, reading, target))

    @torch.no_grad()
    def explain_sharing(self, shared: Shared) -> Attribution:
        """The same; what is read without a word may be kept for whoever erases it."""
        mask, whole = shared.reading.mask, shared.reading.logits.double().softmax(-1)[:, None]
        without = deleted(shared.subject, shared.batch, mask)
        if isinstance(shared.subject, ReadsMany):
            shared.known("delete").learn_each(mask, without)
        return Attribution(torch.where(mask, total_variation(without.softmax(-1), whole), 0.0))

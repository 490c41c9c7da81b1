"""Deletion: what the target class loses, or gains, when a token is really taken out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.budget import in_slices
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.gradient.slopes import target_of
from attentest.explainers.perturbation.drops import check_output, output_of
from attentest.explainers.perturbation.one_by_one import deleted
from attentest.models.subject import Reading, Subject

__all__ = ["Deletion"]


@dataclass(frozen=True)
class Deletion(Explainer):
    """F(x) − F(x without token t), the sequence encoded again without it: leave-one-out with its sign.

    As `leave_one_out`, with a sign: token *t* is taken out and the rest is encoded again. Positive scores: the
    class loses by it.
    """

    name: ClassVar[str] = "deletion"
    summary: ClassVar[str] = "what the class loses when the token is deleted and the rest encoded again"
    reference: ClassVar[str] = "Li et al. 2016; Jain & Wallace 2019, algorithm 1, with its sign"
    erases: ClassVar[str] = "tokens"
    cost: ClassVar[str] = "T forward passes, shared prefixes computed once"
    checked: ClassVar[str] = "a sample against encoding each shortened text by itself"
    signed: ClassVar[bool] = True
    output: Annotated[str, "What the class loses: `margin` (log-odds) or `probability`."] = "margin"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_output(self.name, self.output)

    @torch.no_grad()
    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Deletions of several instances at a time, as many as memory holds."""
        wanted = target_of(reading, target)
        mask = reading.mask
        without = torch.cat(in_slices(lambda rows: deleted(subject, batch[rows], mask[rows]), len(batch), len(batch)))
        drop = output_of(reading.logits, wanted, self.output)[:, None] - output_of(without, wanted, self.output)
        return Attribution(torch.where(mask, drop, 0.0))

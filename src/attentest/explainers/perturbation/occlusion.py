"""Occlusion: what the target class loses when a token's embedding gives way to that of no word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.gradient.slopes import Baselines, check_baselines, target_of
from attentest.explainers.perturbation.drops import check_output, output_of
from attentest.explainers.perturbation.one_by_one import replaced
from attentest.models.subject import Reading, Subject

__all__ = ["Occlusion"]


@dataclass(frozen=True)
class Occlusion(Explainer):
    """F(x) − F(x with the baseline in place of e_t); the text keeps its length.

    The text keeps its length, but token *t* says nothing: its embedding is replaced. What the class loses is the
    score; where it gains, the score is negative. No text a model was trained on has such a gap, so the answer
    depends on what stands in it.
    """

    name: ClassVar[str] = "occlusion"
    summary: ClassVar[str] = "what the class loses when the token's embedding is replaced by an empty one"
    reference: ClassVar[str] = "Zeiler & Fergus 2014; Li et al. 2016"
    erases: ClassVar[str] = "tokens"
    cost: ClassVar[str] = "T forward passes, what the replacement leaves unchanged computed once"
    signed: ClassVar[bool] = True
    baselines: Baselines = "zero"
    output: Annotated[str, "What the class loses: `margin` (log-odds) or `probability`."] = "margin"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_baselines(self.name, self.baselines)
        check_output(self.name, self.output)

    @torch.no_grad()
    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Every token of every text in turn."""
        wanted = target_of(reading, target)
        left = output_of(replaced(subject, batch, reading, self.baselines), wanted, self.output)
        drop = output_of(reading.logits, wanted, self.output)[:, None] - left
        return Attribution(torch.where(batch.mask, drop, 0.0))

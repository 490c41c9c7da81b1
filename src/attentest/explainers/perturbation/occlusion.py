"""Occlusion: what the target class loses when a token's embedding gives way to that of no word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.budget import in_slices
from attentest.explainers.erasure import erased
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.gradient.slopes import Baselines, check_baselines, target_of
from attentest.explainers.perturbation.drops import check_output, output_of
from attentest.measures.packing import by_length, cheapest_cuts
from attentest.models.copies import copies
from attentest.models.shared_work.substitution import replace_each, replaceable
from attentest.models.subject import Reading, Subject

__all__ = ["Occlusion"]

#: Positions of the texts that go together on a CPU, and numbers that may be kept of their pairs: its cache is small.
POSITIONS, NUMBERS = 3_400, 4_000_000
#: What one step costs by itself on a CPU, in pairs of positions.
STEP = 60.0
#: Positions × positions on a GPU, which waits for every step.
BUDGET = 6_000_000


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
        left = output_of(self._occluded(subject, batch, reading), wanted, self.output)
        drop = output_of(reading.logits, wanted, self.output)[:, None] - left
        return Attribution(torch.where(batch.mask, drop, 0.0))

    def _occluded(self, subject: Subject, batch: Batch, reading: Reading) -> Float64[Tensor, "batch token class"]:
        width = batch.mask.shape[1]
        if not replaceable(subject):
            others = ~torch.eye(width, dtype=torch.bool, device=batch.mask.device)
            return erased(subject, batch, reading, others.expand(len(batch), -1, -1), self.baselines)
        known, instead = subject, subject.baseline(self.baselines)
        kept = 1 + (known.classes if known.head.affine else known.encoder.size)
        if batch.mask.device.type == "cpu":
            parts = cheapest_cuts(
                batch.text.lengths, STEP, lambda long: min(POSITIONS // long, NUMBERS // (long**2 * kept))
            )
        else:
            parts = (rows for rows, _ in by_length(batch.text.lengths, BUDGET, power=2))
        out = reading.logits.double()[:, None].repeat(1, width, 1)
        for rows in parts:
            texts = copies(batch, rows)
            found = in_slices(lambda part, texts=texts: replace_each(known, texts[part], instead), len(rows), len(rows))
            out[rows, : texts.mask.shape[1]] = torch.cat(found).double()
        return out

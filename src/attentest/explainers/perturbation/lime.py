"""LIME: the coefficients of a linear model fitted to the outputs for texts with words taken out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Bool, Float64, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.budget import in_slices
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.gradient.slopes import Baselines, check_baselines, target_of
from attentest.explainers.perturbation.coalitions import explained_share, outputs_of, rows_at_once, subsets
from attentest.explainers.perturbation.drops import check_output
from attentest.measures.chance import uniforms
from attentest.models.subject import Reading, Subject
from attentest.parameters import SEEDS, Within

__all__ = ["Lime"]


@dataclass(frozen=True)
class Lime(Explainer):
    """Weighted ridge regression of the output on which tokens are there.

    Many copies of the text, with random words replaced by a baseline, are shown to the model, and a linear model is
    fitted to what it says of them; copies near the text count most. The scores are its coefficients. The
    certificate says how well the linear model fits (R², adjusted for the number of words; none where there are too
    few samples for so many words): where it fits badly, so do the scores.

    The first sample is the whole text; in the others 1 … T tokens, uniformly many, are gone. A sample counts
    exp(−d²/(2·kernel_width²)), d its cosine distance from the whole text: a width of 0.25 is the original's 25 on
    distances in hundredths.
    """

    name: ClassVar[str] = "lime"
    summary: ClassVar[str] = "coefficients of a linear model fitted to the outputs around the text"
    reference: ClassVar[str] = "Ribeiro et al. 2016"
    cost: ClassVar[str] = "n_samples forward passes"
    certifies: ClassVar[tuple[str, ...]] = ("fit",)
    checked: ClassVar[str] = "how well the linear model fits (weighted R², adjusted for the number of words)"
    signed: ClassVar[bool] = True
    n_samples: Annotated[int, "Copies of each text.", Within(2, 100_000)] = 500
    kernel_width: Annotated[
        float, "How fast a copy counts less as words are missing.", Within(0, 1e6, without=(0,))
    ] = 0.25
    alpha: Annotated[
        float, "How strongly coefficients are held near zero (ridge regression).", Within(0, 1e9, without=(0,))
    ] = 1.0
    baselines: Baselines = "zero"
    output: Annotated[str, "What is fitted: `margin` (log-odds) or `probability`."] = "margin"
    seed: Annotated[int, "Another seed, other copies.", SEEDS] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_baselines(self.name, self.baselines)
        check_output(self.name, self.output)

    @torch.no_grad()
    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """All samples of several texts in one erasure."""
        wanted = target_of(reading, target)

        def texts(part: slice) -> tuple[Tensor, Tensor]:
            some = batch[part]
            keep = self.samples(some)
            outputs = outputs_of(subject, some, reading, keep, wanted[part], self.baselines, self.output)
            weight = self.similarity(keep, some.mask)
            share = weight / weight.sum(-1, keepdim=True)
            there = keep.double()
            centred = there - share[:, None] @ there
            above = outputs - (share * outputs).sum(-1, keepdim=True)
            weighted = (centred * weight[..., None]).transpose(1, 2)
            gram = weighted @ centred + self.alpha * torch.eye(there.shape[-1]).to(there)
            scores = torch.linalg.solve(gram, weighted @ above[..., None])
            return scores[..., 0], explained_share(above, (centred @ scores)[..., 0], weight, some.mask.sum(-1))

        size = rows_at_once(self.n_samples, batch.mask.shape[1])
        scores, fit = (torch.cat(x) for x in zip(*in_slices(texts, len(batch), size), strict=True))
        return Attribution(scores * batch.mask, {"fit": fit})

    def samples(self, batch: Batch) -> Bool[Tensor, "batch sample token"]:
        """Which tokens are there: all of them, and then random subsets."""
        count = batch.mask.sum(-1)[:, None]
        at = uniforms(batch.keys, self.n_samples - 1, 1, self.seed, f"{self.name}/sizes")[..., 0]
        gone = 1 + (at * count).floor().long()
        drawn = subsets(batch.keys, batch.mask, count - gone, self.seed, self.name)
        return torch.cat([batch.mask[:, None], drawn], dim=1)

    def similarity(
        self, keep: Bool[Tensor, "batch sample token"], mask: Bool[Tensor, "batch token"]
    ) -> Float64[Tensor, "batch sample"]:
        """How much each sample counts."""
        kept = keep.sum(-1).double() / mask.sum(-1, keepdim=True).clamp(min=1)
        return torch.exp(-(1 - kept.sqrt()).square() / (2 * self.kernel_width**2))

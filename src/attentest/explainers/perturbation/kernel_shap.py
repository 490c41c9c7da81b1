"""KernelSHAP: Shapley values of tokens by least squares over coalitions."""

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
from attentest.explainers.perturbation.coalitions import (
    every_subset,
    explained_share,
    outputs_of,
    rows_at_once,
    solved,
    subsets,
)
from attentest.explainers.perturbation.drops import check_output
from attentest.measures.chance import uniforms
from attentest.models.subject import Reading, Subject
from attentest.parameters import SEEDS, Within

__all__ = ["KernelShap"]


@dataclass(frozen=True)
class KernelShap(Explainer):
    """φ minimising Σ w(S)·(F(S) − F(∅) − Σ_{t∈S} φ_t)² with Σ φ = F(text) − F(∅), w the Shapley kernel.

    A token's Shapley value: what it adds to the margin, on average over all orders in which the words could come
    in. Scores are made to add up to the difference between the text and one without words. For short texts every
    combination of words is asked, and the values are exact; for longer ones combinations are drawn. The certificate
    says which, and how well additive scores fit (R², adjusted for the number of words where combinations are drawn;
    none where there are too few samples for so many words).

    Combinations are drawn by the Shapley kernel, each with its complement.
    """

    name: ClassVar[str] = "kernel_shap"
    summary: ClassVar[str] = "Shapley values by least squares over coalitions of tokens"
    reference: ClassVar[str] = "Lundberg & Lee 2017; Covert & Lee 2021 (pairs)"
    cost: ClassVar[str] = "n_samples + 2 forward passes, or 2^T where that is less: then exact"
    certifies: ClassVar[tuple[str, ...]] = ("completeness_gap", "fit", "exact")
    checked: ClassVar[str] = "whether every coalition was asked (exact); how well additive scores fit (adjusted R²)"
    signed: ClassVar[bool] = True
    n_samples: Annotated[
        int,
        "Combinations of each text's words; texts of at most log₂(n_samples + 2) words need no more to be exact.",
        Within(2, 100_000),
    ] = 500
    baselines: Baselines = "zero"
    output: Annotated[str, "What is shared out: `margin` (log-odds) or `probability`."] = "margin"
    seed: Annotated[int, "Another seed, other combinations.", SEEDS] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_baselines(self.name, self.baselines)
        check_output(self.name, self.output)

    @torch.no_grad()
    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """All coalitions of several texts in one erasure."""
        wanted = target_of(reading, target)

        def texts(part: slice) -> tuple[Tensor, ...]:
            some = batch[part]
            keep, weight = self._coalitions(some)
            ends = torch.stack([some.mask, torch.zeros_like(some.mask)], dim=1)
            asked = torch.cat([ends, keep], dim=1)
            outputs = outputs_of(subject, some, reading, asked, wanted[part], self.baselines, self.output)
            rise = outputs[:, 0] - outputs[:, 1]
            gains = outputs[:, 2:] - outputs[:, 1:2]
            scores = _constrained(keep.double(), weight, gains, rise, some.mask)
            exact = self._countable(some.mask)
            fit = explained_share(gains, (keep.double() @ scores[..., None])[..., 0], weight, some.mask.sum(-1), exact)
            return scores, (scores.sum(-1) - rise).abs(), fit, exact.double()

        size = rows_at_once(self.n_samples, batch.mask.shape[1])
        scores, gap, fit, exact = (torch.cat(x) for x in zip(*in_slices(texts, len(batch), size), strict=True))
        return Attribution(scores, {"completeness_gap": gap, "fit": fit, "exact": exact})

    def _countable(self, mask: Bool[Tensor, "batch token"]) -> Bool[Tensor, " batch"]:
        return mask.sum(-1) <= int(self.n_samples + 2).bit_length() - 1

    def _coalitions(self, batch: Batch) -> tuple[Bool[Tensor, "batch subset token"], Float64[Tensor, "batch subset"]]:
        """Coalitions and their weights: all of them with the kernel's, or drawn by it and weighed alike."""
        mask, count = batch.mask, batch.mask.sum(-1, keepdim=True)
        half = self.n_samples // 2
        drawn = subsets(batch.keys, mask, self._sizes(batch, half), self.seed, self.name)
        drawn = torch.cat([drawn, ~drawn & mask[:, None]], dim=1)
        counted = every_subset(mask, 2 * half)
        few = self._countable(mask)[:, None]
        keep = torch.where(few[..., None], counted, drawn)
        size = keep.sum(-1)
        inside = torch.arange(1, 2 * half + 1, device=mask.device) <= 2.0 ** count.clamp(max=60) - 2
        kernel = _kernel(size, count) * inside
        proper = (size > 0) & (size < count)
        return keep, torch.where(few, kernel, 1.0) * proper

    def _sizes(self, batch: Batch, draws: int) -> Int[Tensor, "batch draw"]:
        """Sizes from 1 to T − 1, each with probability ∝ 1/(k·(T − k))."""
        count = batch.mask.sum(-1, keepdim=True).double()
        k = torch.arange(1, batch.mask.shape[1], device=count.device)
        share = torch.where(k < count, 1 / (k * (count - k)).clamp(min=1), 0.0).cumsum(-1)
        at = uniforms(batch.keys, draws, 1, self.seed, f"{self.name}/sizes")[..., 0]
        sizes = 1 + torch.searchsorted(share, at * share[:, -1:], right=True)
        return torch.minimum(sizes, (count.long() - 1).clamp(min=0))


def _kernel(size: Int[Tensor, "batch subset"], count: Int[Tensor, "batch 1"]) -> Float64[Tensor, "batch subset"]:
    """(T − 1) / (C(T, k) · k · (T − k)) for coalitions of k of T tokens, zero for none and all."""
    k, n = size.double(), count.double()
    proper = (size > 0) & (size < count)
    logs = torch.lgamma(k + 1) + torch.lgamma((n - k).clamp(min=0) + 1) - torch.lgamma(n + 1)
    return torch.where(proper, (n - 1) * logs.exp() / (k * (n - k)).clamp(min=1), 0.0)


def _constrained(
    keep: Float64[Tensor, "batch subset token"],
    weight: Float64[Tensor, "batch subset"],
    gains: Float64[Tensor, "batch subset"],
    rise: Float64[Tensor, " batch"],
    mask: Bool[Tensor, "batch token"],
) -> Float64[Tensor, "batch token"]:
    """Weighted least squares whose coefficients add up to ``rise``."""
    weighted = (keep * weight[..., None]).transpose(1, 2)
    right = torch.stack([(weighted @ gains[..., None])[..., 0], mask.double()], dim=-1)
    free, ones = solved(weighted @ keep, right, mask).unbind(-1)
    excess = (free.sum(-1) - rise) / ones.sum(-1).where(mask.any(-1), 1.0)
    return free - excess[:, None] * ones

"""Integrated gradients: the gradient collected on the way from "no word" to the words, so that scores add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float64, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.errors import InputError
from attentest.explainers.explainer import Attribution, Explainer, margin
from attentest.explainers.gradient.path_integral import Pieces, Way
from attentest.explainers.gradient.quadrature import RULES, quadrature
from attentest.explainers.gradient.slopes import AttentionPath, Baselines, check_baselines, check_path, target_of
from attentest.models.shared_work.lines import Line, line_through
from attentest.models.subject import Reading, Subject
from attentest.parameters import Within

__all__ = ["IntegratedGradients"]

#: The share of the difference, or of so much, by which the end of the way may miss the model's own output: rounding.
ASIDE = 0.01


@dataclass(frozen=True)
class IntegratedGradients(Explainer):
    """(e_t − b) · ∫ ∂F/∂e_t along the straight line from the baseline b to the embeddings e; F is the margin.

    The words fade in from a baseline, and the gradient is collected on the way, so that the scores of a text add up
    to the difference between its margin and the baseline's. The start and end symbols stay as they are. A trained
    LSTM may change its mind within a hundredth of the way, where even steps do not see it: texts whose scores do
    not add up are integrated again, with steps added where they are missed. The certificate gives the gap that is
    left, with what the end of the way misses of the model's own output, the steps it took, and whether the
    tolerance was met.

    Where scores miss the difference by more than the tolerance, the way is cut into pieces, and those pieces are
    halved again whose own scores miss the difference between their ends. With the detached path, attention is held
    at the weights of the text as it stands, and the scores add up to the difference of that function.
    """

    name: ClassVar[str] = "integrated_gradients"
    summary: ClassVar[str] = "gradients integrated from a baseline to the text; the scores add up to the difference"
    reference: ClassVar[str] = "Sundararajan et al. 2017"
    cost: ClassVar[str] = "n_steps forward and backward passes without the first layer; more where the sum is missed"
    certifies: ClassVar[tuple[str, ...]] = ("completeness_gap", "steps", "complete")
    checked: ClassVar[str] = (
        "completeness: the scores add up to F(text) − F(baseline), F(text) the model's own; gap and steps are given"
    )
    signed: ClassVar[bool] = True
    n_steps: Annotated[int, "Steps that every text gets.", Within(1, 100_000)] = 50
    baselines: Baselines = "zero"
    method: Annotated[
        str,
        "Where the steps lie: `gausslegendre`, or evenly, at the `riemann_left`, `riemann_middle` or "
        "`riemann_right` of each interval.",
    ] = "gausslegendre"
    path: AttentionPath = "full"
    tolerance: Annotated[
        float, "How far the sum may be off, as a share of the difference, before steps are added.", Within(0, 1e6)
    ] = 1e-4
    most_steps: Annotated[int, "No text gets more steps than this; `1` adds none.", Within(1, 1_000_000)] = 1600
    internal_batch_size: Annotated[
        int,
        "Points of the way that go through the model at a time; `0`: as many as memory holds. It does not change "
        "the scores.",
        Within(0, 1_000_000),
    ] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_path(self.name, self.path)
        check_baselines(self.name, self.baselines)
        if self.method not in RULES:
            raise InputError(f"{self.name}: method={self.method!r} must be one of {', '.join(RULES)}.")

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """n_steps for every text; more, where they are needed, for texts whose scores do not add up."""
        way = Way(self._line(subject, batch, reading), target_of(reading, target), self.internal_batch_size)
        everyone = torch.arange(len(batch), device=batch.mask.device)
        ends = way.outputs(everyone, way.spread((0.0, 1.0), everyone))
        rise = ends.diff(dim=-1)[:, 0]
        aside = (ends[:, 1] - self._output(reading, way.target)).abs()
        at, weight = (way.spread(x, everyone) for x in quadrature(self.method, self.n_steps))
        scores, _ = way.scores(everyone, at, weight)
        steps = torch.full_like(rise, self.n_steps)
        # Beside the tolerance, a text may miss the difference by what rounding explains.
        rounding = 16 * torch.finfo(scores.dtype).eps * (scores.abs().sum(-1).double() + rise.abs() + 1)
        allowed = self.tolerance * rise.abs() + rounding
        gap = (scores.double().sum(-1) - rise).abs()
        missed = (gap > allowed).nonzero()[:, 0]
        if len(missed) and self.n_steps < self.most_steps:
            pieces = Pieces(way, missed, max(2, self.n_steps // 5))
            steps += pieces.refine(allowed, self.most_steps - self.n_steps)
            refined = pieces.total()
            again = (refined.double().sum(-1) - rise).abs()
            better = torch.zeros_like(gap, dtype=torch.bool)
            better[missed] = again[missed] < gap[missed]
            scores = torch.where(better[:, None], refined, scores)
            gap = torch.where(better, again, gap)
        certificate = {
            "completeness_gap": gap + aside,
            "difference": rise,
            "steps": steps,
            "complete": ((gap <= allowed) & (aside <= ASIDE * rise.abs().clamp(min=ASIDE))).double(),
        }
        return Attribution(scores, certificate)

    @torch.no_grad()
    def _output(self, reading: Reading, target: Int[Tensor, " batch"]) -> Float64[Tensor, " batch"]:
        """F of the text as the model itself reads it."""
        held = self.path == "detached"
        logits = reading.reread(reading.weights[:, None])[:, 0] if held else reading.logits
        return margin(logits.double(), target)

    @torch.no_grad()
    def _line(self, subject: Subject, batch: Batch, reading: Reading) -> Line:
        """From the baseline to the embeddings; start, end and padding stay where they are."""
        embeddings = subject.embed(batch).detach()
        start = torch.where(batch.mask[..., None], subject.baseline(self.baselines).to(embeddings), embeddings)
        held = reading.weights.detach() if self.path == "detached" else None
        return line_through(subject, batch, start, embeddings - start, held)

"""Small changes of the embeddings that leave the prediction and move the scores (Ghorbani et al. 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Explainer
from attentest.explainers.gradient.slopes import differentiable
from attentest.explainers.gradient.traced import Traced, traced
from attentest.measures.chance import uniforms
from attentest.measures.divergence import total_variation
from attentest.models.subject import Subject

__all__ = ["BALLS", "OBJECTIVES", "Found", "Search", "random_signs", "sizes_of", "top_of"]

BALLS = ("max", "length")
OBJECTIVES = ("top", "centre")
#: Where the search begins, as a share of its ball: at the text itself the centre has no slope.
BEGIN = 0.1
#: A step is this share of the ball, over the number of steps, so that its edge can be reached and left again.
STRIDE = 2.5


class Found(NamedTuple):
    """Scores (sizes, signs aside) at the change that moved them most while the prediction stayed, and what it did."""

    scores: Float[Tensor, "batch token"]
    #: Whether any change was found that left the prediction.
    kept: Bool[Tensor, " batch"]
    output_change: Float[Tensor, " batch"]


@dataclass(frozen=True)
class Search:
    """What is searched for one batch and one explainer."""

    subject: Subject
    batch: Batch
    method: Explainer
    embeddings: Float[Tensor, "batch position embedding"]
    target: Int[Tensor, " batch"]
    #: Those of the items that attention weighs.
    mask: Bool[Tensor, "batch token"]
    #: Scores at the text itself, signs aside, and the prediction there.
    own: Float[Tensor, "batch token"]
    before: Float[Tensor, "batch class"]
    top: int
    ball: str
    objective: str
    #: By how much the prediction may move (TVD) and still be the same.
    allowed: float

    def at(self, moved: Float[Tensor, "batch position embedding"]) -> Traced:
        """Scores and logits with the embeddings moved."""
        return traced(self.method, self.subject, self.batch, self.embeddings + moved, self.target)

    def random(self, radius: Float[Tensor, "batch 1 1"], signs: Float[Tensor, "batch position embedding"]) -> Found:
        """With every number of every embedding moved by the radius, up or down."""
        with differentiable(self.subject):
            scores, logits = self.at((radius * signs).requires_grad_())
        change, kept = self._kept(logits.detach())
        return Found(scores.detach().double().abs(), kept, change)

    def searched(
        self, radius: Float[Tensor, "batch 1 1"], signs: Float[Tensor, "batch position embedding"], steps: int
    ) -> Found:
        """Of so many steps uphill within the ball, the one where scores moved most and the prediction stayed."""
        moved = BEGIN * radius * signs
        best = torch.full_like(self.own[:, 0], -torch.inf)
        scores, change = self.own.clone(), torch.zeros_like(best)
        for step in range(steps + 1):
            with differentiable(self.subject):
                leaf = moved.detach().requires_grad_()
                there = self.at(leaf)
                distance = self.distance(there.scores.double().abs())
                rising = step < steps and distance.requires_grad
                slope = torch.autograd.grad(distance.sum(), leaf)[0] if rising else torch.zeros_like(leaf)
            now, kept = self._kept(there.logits.detach())
            better = kept & (distance.detach() > best)
            best = torch.where(better, distance.detach(), best)
            scores = torch.where(better[:, None], there.scores.detach().double().abs(), scores)
            change = torch.where(better, now, change)
            moved = self.inside(moved + STRIDE / max(1, steps) * self._uphill(slope, radius), radius)
        return Found(scores, best > -torch.inf, change)

    def distance(self, scores: Float[Tensor, "batch token"]) -> Float[Tensor, " batch"]:
        """How far scores are from those of the text itself: less of them on its top, or their centre elsewhere."""
        share = self._normal(scores)
        if self.objective == "top":
            return -(share * top_of(self.own, self.mask, self.top)).sum(-1)
        place = (self.mask.cumsum(-1) - 1) * self.mask
        return ((share - self._normal(self.own)) * place).sum(-1).abs()

    def _normal(self, scores: Float[Tensor, "batch token"]) -> Float[Tensor, "batch token"]:
        real = scores * self.mask
        return real / real.sum(-1, keepdim=True).clamp(min=1e-30)

    def _kept(self, logits: Float[Tensor, "batch class"]) -> tuple[Float[Tensor, " batch"], Bool[Tensor, " batch"]]:
        change = total_variation(self.before, logits.double().softmax(-1))
        return change, (logits.argmax(-1) == self.target) & (change <= self.allowed)

    def _uphill(
        self, slope: Float[Tensor, "batch position embedding"], radius: Float[Tensor, "batch 1 1"]
    ) -> Float[Tensor, "batch position embedding"]:
        slope = slope * self.batch.mask[..., None]
        if self.ball == "max":
            return radius * slope.sign()
        steepness: Tensor = slope.flatten(1).norm(dim=-1).clamp(min=1e-30)
        return self._length(radius) * slope / steepness[:, None, None]

    def inside(
        self, moved: Float[Tensor, "batch position embedding"], radius: Float[Tensor, "batch 1 1"]
    ) -> Float[Tensor, "batch position embedding"]:
        """The nearest change within the ball."""
        if self.ball == "max":
            return torch.minimum(torch.maximum(moved, -radius), radius)
        length: Tensor = moved.flatten(1).norm(dim=-1).clamp(min=1e-30)
        return moved * (self._length(radius) / length[:, None, None]).clamp(max=1)

    def _length(self, radius: Float[Tensor, "batch 1 1"]) -> Float[Tensor, "batch 1 1"]:
        """How long a change is whose numbers are all as large as the radius."""
        return radius * (self.batch.mask.sum(-1) * self.embeddings.shape[-1]).sqrt()[:, None, None]


def sizes_of(
    embeddings: Float[Tensor, "batch position embedding"], mask: Bool[Tensor, "batch position"]
) -> Float[Tensor, "batch 1 1"]:
    """The root mean square of the numbers in the embeddings of a text's words."""
    squares = (embeddings.square() * mask[..., None]).sum((1, 2)) / embeddings.shape[-1]
    return (squares / mask.sum(-1).clamp(min=1)).sqrt()[:, None, None]


def random_signs(batch: Batch, size: int, seed: int) -> Float[Tensor, "batch position embedding"]:
    """+1 or −1 for every number of every word's embedding, by the seed and the text alone; zero elsewhere."""
    drawn = uniforms(batch.keys, size, batch.mask.shape[1], seed, "fragility", batch.mask).mT
    return torch.where(drawn < 0.5, -1.0, 1.0) * batch.mask[..., None]


def top_of(
    scores: Float[Tensor, "batch token"], mask: Bool[Tensor, "batch token"], top: int
) -> Bool[Tensor, "batch token"]:
    """The tokens with the highest scores; ties by lowest index."""
    order = scores.masked_fill(~mask, -torch.inf).argsort(dim=-1, descending=True, stable=True)
    here = torch.arange(mask.shape[-1], device=mask.device).expand_as(order)
    return (torch.empty_like(order).scatter_(-1, order, here) < top) & mask

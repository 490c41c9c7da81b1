"""The attention that keeps a prediction within ε, and the slabs of logits it must lie in."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.measures.adversary.slabs import slabs_around
from attentest.measures.divergence import jensen_shannon, total_variation

__all__ = ["Neighbourhood"]

_HALVINGS = 40  # of a segment whose end leaves the neighbourhood
_ROUNDING = 1e-12  # α keeps its own prediction to this, and segments end this far within ε


@dataclass(frozen=True)
class Neighbourhood:
    """All α' with TVD(softmax(Σ α'_t z_t), y) ≤ ε, for rows whose real tokens stand first.

    The mean of every token's ``margins`` lies between ``low`` and ``high`` in each slab around it.
    """

    alpha: Float[Tensor, "rows token"]
    z: Float[Tensor, "rows token outcome"]
    mask: Bool[Tensor, "rows token"]
    epsilon: float
    predicted: Float[Tensor, "rows outcome"]
    margins: Float[Tensor, "rows token slab"]
    low: Float[Tensor, "rows slab"]
    high: Float[Tensor, "rows slab"]

    @classmethod
    def of(
        cls,
        alpha: Float[Tensor, "rows token"],
        z: Float[Tensor, "rows token outcome"],
        mask: Bool[Tensor, "rows token"],
        epsilon: float,
    ) -> Neighbourhood:
        """The neighbourhood of the prediction that α makes."""
        z = z.masked_fill(~mask[..., None], 0.0)
        predicted = (alpha[:, None] @ z).squeeze(1).softmax(-1)
        return cls(alpha, z, mask, epsilon, predicted, *slabs_around(z, mask, predicted, epsilon))

    def rows(self, rows: Int[Tensor, " some"], longest: int) -> Neighbourhood:
        """Some rows, cut to the longest of them."""
        return Neighbourhood(
            self.alpha[rows, :longest],
            self.z[rows, :longest],
            self.mask[rows, :longest],
            self.epsilon,
            self.predicted[rows],
            self.margins[rows, :longest],
            self.low[rows],
            self.high[rows],
        )

    @property
    def excess(self) -> Float[Tensor, "rows token bound"]:
        """How far every token is beyond every bound; a bound at infinity is never reached."""
        beyond = torch.cat([self.margins - self.high[:, None], self.low[:, None] - self.margins], -1)
        return beyond.masked_fill(beyond.isinf(), -1.0)

    def divergence(self, weights: Float[Tensor, "rows k token"]) -> Float[Tensor, "rows k"]:
        """JSD from α of weights in the neighbourhood, −∞ outside it."""
        change = total_variation((weights @ self.z).softmax(-1), self.predicted[:, None])
        return jensen_shannon(weights, self.alpha[:, None]).masked_fill(
            ~(change <= self.epsilon + _ROUNDING), -math.inf
        )

    def best(self, weights: Float[Tensor, "rows k token"]) -> Float[Tensor, "rows token"]:
        """The weights in the neighbourhood with the largest divergence."""
        return weights[torch.arange(len(weights), device=weights.device), self.divergence(weights).argmax(-1)]

    def pulled(
        self, anchor: Float[Tensor, "#rows #k token"], goal: Float[Tensor, "rows k token"]
    ) -> Float[Tensor, "rows k token"]:
        """The last weights found in the neighbourhood on the way from an anchor in it to a goal."""
        return torch.lerp(anchor.expand_as(goal), goal, self.as_far(anchor @ self.z, goal @ self.z)[..., None])

    def as_far(
        self, anchor: Float[Tensor, "#rows #k outcome"], goal: Float[Tensor, "rows k outcome"]
    ) -> Float[Tensor, "rows k"]:
        """How much of the way between two logits can be gone, by bisection: all of it where the goal is inside."""

        def inside(share: Float[Tensor, "rows k"]) -> Bool[Tensor, "rows k"]:
            reached = torch.lerp(anchor, goal, share[..., None]).softmax(-1)
            return total_variation(reached, self.predicted[:, None]) <= self.epsilon - _ROUNDING

        far = torch.ones_like(goal[..., 0])
        near = torch.where(inside(far), far, 0.0)
        for _ in range(_HALVINGS):
            middle = (near + far) / 2
            kept = inside(middle)
            near, far = torch.where(kept, middle, near), torch.where(kept, far, middle)
        return near

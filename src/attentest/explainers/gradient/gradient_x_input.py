"""Gradient × input: what a token adds to the output, were the model linear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float
from torch import Tensor

from attentest.explainers.gradient.gradient import OfSlope
from attentest.explainers.gradient.slopes import AttentionPath

__all__ = ["GradientXInput"]


@dataclass(frozen=True)
class GradientXInput(OfSlope):
    """∂ŷ/∂e_t · e_t, signed; ``gradient`` is its absolute value with attention held fixed.

    What token *t* adds to the margin, were the model linear: positive scores speak for the class, negative ones
    against it. `gradient` is its absolute value with attention held fixed, as Jain & Wallace have it.
    """

    name: ClassVar[str] = "gradient_x_input"
    summary: ClassVar[str] = "gradient×embedding with its sign, ∂ŷ/∂e_t · e_t"
    reference: ClassVar[str] = "Shrikumar et al. 2016; Denil et al. 2014"
    cost: ClassVar[str] = "one forward and one backward pass"
    signed: ClassVar[bool] = True
    path: AttentionPath = "full"

    def of_slope(
        self, slope: Float[Tensor, "batch token embedding"], embeddings: Float[Tensor, "batch token embedding"]
    ) -> Float[Tensor, "batch token"]:
        """The slope at every token times its embedding."""
        return (slope * embeddings).sum(-1)

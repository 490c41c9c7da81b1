"""Gradient norm: how steeply the output changes with a token's embedding, in any direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from jaxtyping import Float
from torch import Tensor

from attentest.errors import InputError
from attentest.explainers.gradient.gradient import OfSlope
from attentest.explainers.gradient.slopes import AttentionPath

__all__ = ["GradientNorm"]

NORMS = ("l2", "l1", "sum")


@dataclass(frozen=True)
class GradientNorm(OfSlope):
    """‖∂ŷ/∂e_t‖₂, its L1 norm, or the signed sum of its components.

    How strongly the margin reacts to a small change of token *t*'s embedding, in whichever direction. It says where
    the model is sensitive, not which way: only `sum` has a sign.
    """

    name: ClassVar[str] = "gradient_norm"
    summary: ClassVar[str] = "norm of the gradient at the embedding, ‖∂ŷ/∂e_t‖"
    reference: ClassVar[str] = "Simonyan et al. 2014; Li et al. 2016"
    cost: ClassVar[str] = "one forward and one backward pass"
    signed: ClassVar[bool] = True
    norm: Annotated[str, "`l2` and `l1` are norms of the gradient; `sum` adds up its components, with their signs."] = (
        "l2"
    )
    path: AttentionPath = "full"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm not in NORMS:
            raise InputError(f"{self.name}: norm={self.norm!r} must be one of {', '.join(NORMS)}.")
        super().__post_init__()

    def has_sign(self) -> bool:
        """Of the three, the sum of components alone."""
        return self.norm == "sum"

    def of_slope(
        self, slope: Float[Tensor, "batch token embedding"], embeddings: Float[Tensor, "batch token embedding"]
    ) -> Float[Tensor, "batch token"]:
        """The slope at every token as one number."""
        return slope.sum(-1) if self.norm == "sum" else slope.norm(p={"l1": 1, "l2": 2}[self.norm], dim=-1)

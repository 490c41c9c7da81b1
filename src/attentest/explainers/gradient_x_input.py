"""Gradient × input: what a token adds to the output, were the model linear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.slopes import check_path, slopes, target_of
from attentest.models.subject import Reading, Subject

__all__ = ["GradientXInput"]


@dataclass(frozen=True)
class GradientXInput(Explainer):
    """∂ŷ/∂e_t · e_t, signed; ``gradient`` is its absolute value with attention held fixed."""

    name: ClassVar[str] = "gradient_x_input"
    summary: ClassVar[str] = "gradient×embedding with its sign, ∂ŷ/∂e_t · e_t"
    reference: ClassVar[str] = "Shrikumar et al. 2016; Denil et al. 2014"
    cost: ClassVar[str] = "one forward and one backward pass"
    signed: ClassVar[bool] = True
    path: str = "full"

    def __post_init__(self) -> None:
        check_path(self.name, self.path)

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """One pass there and back."""
        embeddings = subject.embed(batch).detach()
        slope = slopes(subject, batch, embeddings, target_of(reading, target), self.path)
        return Attribution(self.of_slope(slope, embeddings) * batch.mask)

    def of_slope(
        self, slope: Float[Tensor, "batch token embedding"], embeddings: Float[Tensor, "batch token embedding"]
    ) -> Float[Tensor, "batch token"]:
        """The slope at every token times its embedding."""
        return (slope * embeddings).sum(-1)

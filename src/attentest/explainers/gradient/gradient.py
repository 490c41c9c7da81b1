"""Gradient × input, at the embeddings or at the states."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer, margin
from attentest.explainers.gradient.slopes import AttentionPath, check_path, differentiable, target_of
from attentest.explainers.shared import Shared
from attentest.models.subject import Reading, Subject

__all__ = ["Gradient", "GradientState", "OfSlope"]


class OfSlope(Explainer):
    """A method made of the slope at the embeddings: one pass there and back serves all that share it."""

    #: Whether attention is in the slope's path ("full") or held fixed ("detached").
    path: str

    def __post_init__(self) -> None:
        super().__post_init__()
        check_path(self.name, self.path)

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """With a slope of its own."""
        return self.explain_sharing(Shared(subject, batch, reading, target))

    def explain_sharing(self, shared: Shared) -> Attribution:
        """With the slope that is there already, if it is."""
        return Attribution(self.of_slope(*shared.slope(self.path)) * shared.batch.mask)

    @abstractmethod
    def of_slope(
        self, slope: Float[Tensor, "batch token embedding"], embeddings: Float[Tensor, "batch token embedding"]
    ) -> Float[Tensor, "batch token"]:
        """The slope at every token, and its embedding, as one number."""


@dataclass(frozen=True)
class Gradient(OfSlope):
    """|∂ŷ/∂e_t · e_t|, with attention held fixed (detached) or not (full).

    How the margin of the predicted class depends on the embedding of token *t*, times that embedding. The gradient
    is taken of the log-odds, not of the probability: the order is the same, and it does not vanish where the model is
    sure.
    """

    name: ClassVar[str] = "gradient"
    summary: ClassVar[str] = "gradient×embedding, |∂ŷ/∂e_t · e_t|"
    reference: ClassVar[str] = "Jain & Wallace 2019, algorithm 1"
    cost: ClassVar[str] = "one forward and one backward pass"
    path: AttentionPath = "detached"

    def of_slope(
        self, slope: Float[Tensor, "batch token embedding"], embeddings: Float[Tensor, "batch token embedding"]
    ) -> Float[Tensor, "batch token"]:
        """The slope at every token times its embedding, without its sign."""
        return (slope * embeddings).sum(-1).abs()


@dataclass(frozen=True)
class GradientState(Explainer):
    r"""|∂ŷ/∂h_t · h_t|: how much the output depends on a *state*, whatever tokens went into it.

    The same at the states: how the output depends on what attention weighs, whatever tokens went into it. The
    gradient's norm alone would say nothing new here: with attention detached and an affine head it is $\alpha_t$
    times a constant.
    """

    name: ClassVar[str] = "gradient_state"
    summary: ClassVar[str] = "gradient×state, |∂ŷ/∂h_t · h_t|"
    reference: ClassVar[str] = "after Jain & Wallace 2019, at the states"
    cost: ClassVar[str] = "one forward and one backward pass"
    path: AttentionPath = "detached"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_path(self.name, self.path)

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """At the states that attention weighs."""
        with differentiable(subject):
            leaf = subject.embed(batch).detach().requires_grad_()  # a model's own may be frozen
            traced = subject.read(batch, embeddings=leaf, detach_attention=self.path == "detached")
            wanted = margin(traced.logits, target_of(traced, target)).sum()
            (gradient,) = torch.autograd.grad(wanted, traced.states)
        return Attribution(((gradient * traced.states).sum(-1).abs() * traced.mask).detach())

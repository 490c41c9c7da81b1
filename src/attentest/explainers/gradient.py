"""Gradient × input, at the embeddings or at the states."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.errors import InputError
from attentest.explainers.explainer import Attribution, Explainer, margin
from attentest.models.subject import Reading, Subject

__all__ = ["Gradient", "GradientState"]


@dataclass(frozen=True)
class Gradient(Explainer):
    """|∂ŷ/∂e_t · e_t|, with attention held fixed (detached) or not (full)."""

    name: ClassVar[str] = "gradient"
    summary: ClassVar[str] = "gradient×embedding, |∂ŷ/∂e_t · e_t|"
    reference: ClassVar[str] = "Jain & Wallace 2019, algorithm 1"
    cost: ClassVar[str] = "one forward and one backward pass"
    path: str = "detached"

    def __post_init__(self) -> None:
        _check(self.path)

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """At the input embeddings."""
        with differentiable(subject):
            traced = subject.read(batch, detach_attention=self.path == "detached")
            return Attribution(_product(traced, traced.embeddings, batch.mask, target))

    def of_slope(
        self, slope: Float[Tensor, "batch token embedding"], embeddings: Float[Tensor, "batch token embedding"]
    ) -> Float[Tensor, "batch token"]:
        """The slope at every token times its embedding, without its sign."""
        return (slope * embeddings).sum(-1).abs()


@dataclass(frozen=True)
class GradientState(Explainer):
    """|∂ŷ/∂h_t · h_t|: how much the output depends on a *state*, whatever tokens went into it.

    The norm of ∂ŷ/∂h_t alone would say nothing new: with attention detached and an affine head it is α_t
    times a constant.
    """

    name: ClassVar[str] = "gradient_state"
    summary: ClassVar[str] = "gradient×state, |∂ŷ/∂h_t · h_t|"
    reference: ClassVar[str] = "after Jain & Wallace 2019, at the states"
    cost: ClassVar[str] = "one forward and one backward pass"
    path: str = "detached"

    def __post_init__(self) -> None:
        _check(self.path)

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """At the states that attention weighs."""
        with differentiable(subject):
            traced = subject.read(batch, detach_attention=self.path == "detached")
            return Attribution(_product(traced, traced.states, traced.mask, target))


def _check(path: str) -> None:
    if path not in ("detached", "full"):
        raise InputError(f"path={path!r} must be 'detached' (attention held fixed) or 'full'.")


@contextlib.contextmanager
def differentiable(subject: Subject) -> Iterator[None]:
    """Gradients on; on a GPU cuDNN off, because its LSTM has no backward pass outside training mode."""
    gpu = subject.device.type == "cuda"  # the flag is the whole process's: worker threads must not touch it
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False) if gpu else contextlib.nullcontext():
        yield


def _product(reading: Reading, at: Tensor, mask: Tensor, target: Tensor | None) -> Tensor:
    wanted = margin(reading.logits, reading.predicted if target is None else target).sum()
    (gradient,) = torch.autograd.grad(wanted, at)
    return ((gradient * at).sum(-1).abs() * mask).detach()

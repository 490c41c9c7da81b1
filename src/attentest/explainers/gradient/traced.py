"""Scores as a differentiable function of the embeddings, for whoever moves these to move the scores."""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.attention.attention import AttentionWeights
from attentest.explainers.explainer import Explainer, margin
from attentest.explainers.gradient.gradient import OfSlope
from attentest.explainers.gradient.integrated_gradients import IntegratedGradients
from attentest.explainers.gradient.quadrature import quadrature
from attentest.models.subject import Reading, Subject

__all__ = ["Traced", "traceable", "traced"]


class Traced(NamedTuple):
    """Scores of what attention weighs, with the graph that leads to them from the embeddings, and the logits there."""

    scores: Float[Tensor, "batch token"]
    logits: Float[Tensor, "batch class"]


@singledispatch
def traced(
    method: Explainer,
    subject: Subject,
    batch: Batch,
    embeddings: Float[Tensor, "batch position embedding"],
    target: Int[Tensor, " batch"],
) -> Traced:
    """The method's scores at these embeddings, which must ask for gradients, for the target class."""
    raise TypeError(f"{method.name} is no differentiable function of the embeddings here")


def traceable(method: Explainer) -> bool:
    """Whether there is such a function."""
    return traced.dispatch(type(method)) is not traced.dispatch(object)


@traced.register
def _(method: AttentionWeights, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor) -> Traced:
    reading = subject.read(batch, embeddings=embeddings)
    return Traced(reading.weights, reading.logits)


@traced.register
def _(method: OfSlope, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor) -> Traced:
    reading, slope = _slope(subject, batch, embeddings, target, detached=method.path == "detached")
    return Traced(reading.pooled(method.of_slope(slope, embeddings) * batch.mask), reading.logits)


@traced.register
def _(method: IntegratedGradients, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor) -> Traced:
    """With n_steps and no more: where they miss the difference, nothing is added."""
    absent = subject.baseline(method.baselines).to(embeddings)
    start = torch.where(batch.mask[..., None], absent, embeddings)
    held, total = method.path == "detached", torch.zeros_like(embeddings)
    for at, weight in zip(*quadrature(method.method, method.n_steps), strict=True):
        point = start + at * (embeddings - start)
        total = total + weight * _slope(subject, batch, point, target, detached=held)[1]
    reading = subject.read(batch, embeddings=embeddings)
    return Traced(reading.pooled((total * (embeddings - start)).sum(-1) * batch.mask), reading.logits)


def _slope(
    subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor, *, detached: bool
) -> tuple[Reading, Float[Tensor, "batch position embedding"]]:
    reading = subject.read(batch, embeddings=embeddings, detach_attention=detached)
    (slope,) = torch.autograd.grad(margin(reading.logits, target).sum(), embeddings, create_graph=True)
    return reading, slope

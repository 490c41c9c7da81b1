"""Scores as a differentiable function of the embeddings, for whoever moves these to move the scores."""

from __future__ import annotations

from functools import singledispatch
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.attention.attention import AttentionWeights
from attentest.explainers.attention.attention_x_gradient import AttentionXGradient, times_slope
from attentest.explainers.attention.attention_x_value_norm import AttentionXValueNorm, lengths
from attentest.explainers.attention.state_evidence import StateEvidence, evidence
from attentest.explainers.budget import in_slices, positions
from attentest.explainers.explainer import Explainer, margin
from attentest.explainers.gradient.gradient import GradientState, OfSlope
from attentest.explainers.gradient.integrated_gradients import IntegratedGradients
from attentest.explainers.gradient.quadrature import quadrature
from attentest.explainers.gradient.smooth_grad import SmoothGrad, noise
from attentest.explainers.relevance.lrp import Replaying
from attentest.models.capabilities import Attends, Selects
from attentest.models.networks.held import holding
from attentest.models.subject import Reading, Subject

__all__ = ["Traced", "traceable", "traced", "untraced"]


#: What is made of the states that a reading shows, or of rereading them.
OF_STATES = (AttentionXGradient, AttentionXValueNorm, GradientState, StateEvidence)


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


def traceable(kind: type[Explainer]) -> bool:
    """Whether there is such a function."""
    return traced.dispatch(kind) is not traced.dispatch(object)


def untraced(method: Explainer, subject: Subject) -> str | None:
    """Why the scores that such a function gives would lack a part of their slope here; None where they have it all."""
    if isinstance(method, OF_STATES) and not isinstance(subject, Attends | Selects):
        return f"{method.name} is made of states, and those of checkpoints and of your own modules have no slope"
    return None


@traced.register
def _(method: AttentionWeights, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor) -> Traced:
    reading = subject.read(batch, embeddings=embeddings)
    return Traced(method.scores(subject, batch, reading, target), reading.logits)


@traced.register
def _(method: AttentionXValueNorm, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor) -> Traced:
    reading = subject.read(batch, embeddings=embeddings)
    return Traced(lengths(reading), reading.logits)


@traced.register
def _(method: AttentionXGradient, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor) -> Traced:
    reading = subject.read(batch, embeddings=embeddings)
    return Traced(times_slope(reading, reading.weights, target, again=True), reading.logits)


@traced.register
def _(method: StateEvidence, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor) -> Traced:
    reading = subject.read(batch, embeddings=embeddings)
    return Traced(evidence(reading), reading.logits)


@traced.register
def _(method: GradientState, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor) -> Traced:
    reading, slope = _slope(subject, batch, embeddings, target, "states", detached=method.path == "detached")
    return Traced((slope * reading.states).sum(-1).abs() * reading.mask, reading.logits)


@traced.register
def _(method: OfSlope, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor) -> Traced:
    reading, slope = _slope(subject, batch, embeddings, target, detached=method.path == "detached")
    return Traced(reading.pooled(method.of_slope(slope, embeddings) * batch.mask), reading.logits)


@traced.register
def _(method: IntegratedGradients, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor) -> Traced:
    """With n_steps and no more: where they miss the difference, nothing is added."""
    absent = subject.baseline(method.baselines).to(embeddings)
    start = torch.where(batch.mask[..., None], absent, embeddings)
    reading, total = subject.read(batch, embeddings=embeddings), torch.zeros_like(embeddings)
    with holding(again=True) as held:
        for at, weight in zip(*quadrature(method.method, method.n_steps), strict=True):
            point = start + at * (embeddings - start)
            there = subject.read(batch, embeddings=point)
            weights = held(reading.weights)[:, None]
            logits = there.reread(weights)[:, 0] if method.path == "detached" else there.logits
            total = total + weight * _slope_of(logits, point, target)
    return Traced(reading.pooled((total * (embeddings - start)).sum(-1) * batch.mask), reading.logits)


@traced.register
def _(method: SmoothGrad, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor) -> Traced:
    """The spread moves with the embeddings, the noise stays."""
    of, spread = method.smoothed, method.spread(embeddings, batch.mask)
    texts = torch.arange(len(batch), device=batch.mask.device)

    def some(part: slice) -> Tensor:
        samples = range(method.nt_samples)[part]
        rows = texts.repeat(len(samples))
        drawn = torch.cat([noise(batch.keys, batch.mask, embeddings, method.seed, sample) for sample in samples])
        noisy = embeddings[rows] + spread[rows] * drawn
        slope = _slope(subject, batch[rows], noisy, target[rows], detached=of.path == "detached")[1]
        return of.of_slope(slope, noisy).view(len(samples), len(batch), -1).sum(0)

    size = positions(subject.device) // max(1, batch.mask.numel())
    total = torch.stack(in_slices(some, method.nt_samples, size)).sum(0) / method.nt_samples
    reading = subject.read(batch, embeddings=embeddings)
    return Traced(reading.pooled(total * batch.mask), reading.logits)


@traced.register
def _(method: Replaying, subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor) -> Traced:
    reading = subject.read(batch, embeddings=embeddings)
    return Traced(
        reading.pooled(method.replayed(subject, batch, embeddings, target, again=True)["scores"]), reading.logits
    )


def _slope(
    subject: Subject, batch: Batch, embeddings: Tensor, target: Tensor, at: str = "embeddings", *, detached: bool
) -> tuple[Reading, Float[Tensor, "batch place number"]]:
    """The reading, and the slope of the margin at its embeddings, or at its states."""
    reading = subject.read(batch, embeddings=embeddings, detach_attention=detached)
    place = embeddings if at == "embeddings" else reading.states
    return reading, _slope_of(reading.logits, place, target)


def _slope_of(logits: Tensor, place: Tensor, target: Tensor) -> Float[Tensor, "batch place number"]:
    """With a graph of its own."""
    (slope,) = torch.autograd.grad(margin(logits, target).sum(), place, create_graph=True)
    return slope

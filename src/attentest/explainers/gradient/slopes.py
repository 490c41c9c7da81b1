"""The slope of the target's margin at the input embeddings, which all gradient methods are made of."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Annotated

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.errors import InputError
from attentest.explainers.budget import in_slices
from attentest.explainers.explainer import margin
from attentest.models.subject import BASELINES, Reading, Subject

__all__ = ["AttentionPath", "Baselines", "check_baselines", "check_path", "differentiable", "slopes", "target_of"]

Baselines = Annotated[
    str, "What stands for an absent word: `zero`, `mean` (the mean of all embeddings) or `mask` (the unknown word)."
]
AttentionPath = Annotated[
    str, "`full`: what words do through the attention weights counts too; `detached`: the weights are held fixed."
]


def check_path(explainer: str, path: str) -> None:
    """Refuse a path that is neither 'full' nor 'detached'."""
    if path not in ("full", "detached"):
        raise InputError(f"{explainer}: path={path!r} must be 'full' or 'detached' (attention held fixed).")


def check_baselines(explainer: str, baselines: str) -> None:
    """Refuse a baseline that no subject knows."""
    if baselines not in BASELINES:
        raise InputError(f"{explainer}: baselines={baselines!r} must be one of {', '.join(BASELINES)}.")


def target_of(reading: Reading, target: Int[Tensor, " batch"] | None) -> Int[Tensor, " batch"]:
    """The class to explain: the given one, or the predicted one."""
    return reading.predicted if target is None else target


@contextlib.contextmanager
def differentiable(subject: Subject) -> Iterator[None]:
    """Gradients on; on a GPU cuDNN off, because its LSTM has no backward pass outside training mode."""
    gpu = subject.device.type == "cuda"  # the flag is the whole process's: worker threads must not touch it
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False) if gpu else contextlib.nullcontext():
        yield


def slopes(
    subject: Subject,
    batch: Batch,
    embeddings: Float[Tensor, "batch position embedding"],
    target: Int[Tensor, " batch"],
    path: str = "full",
) -> Float[Tensor, "batch position embedding"]:
    """∂margin/∂e of the target class at these embeddings, with attention in the path or held fixed."""

    def part(rows: slice) -> Tensor:
        with differentiable(subject):
            leaf = embeddings[rows].detach().requires_grad_()
            reading = subject.read(batch[rows], embeddings=leaf, detach_attention=path == "detached")
            (slope,) = torch.autograd.grad(margin(reading.logits, target[rows]).sum(), leaf)
        return slope

    return torch.cat(in_slices(part, len(batch), len(batch)))

"""Coalitions: subsets of a text's tokens, what the model says of them, and least squares over them."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float64, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.erasure import erased
from attentest.explainers.perturbation.drops import output_of
from attentest.measures.chance import permutations
from attentest.measures.packing import ordinals
from attentest.models.subject import Reading, Subject

__all__ = ["every_subset", "explained_share", "outputs_of", "rows_at_once", "solved", "subsets"]

#: Coalitions × tokens of a slice of texts.
CELLS = 4_000_000


def subsets(
    keys: Int[Tensor, " batch"],
    mask: Bool[Tensor, "batch token"],
    sizes: Int[Tensor, "batch draw"],
    seed: int,
    stream: str,
) -> Bool[Tensor, "batch draw token"]:
    """Uniform random subsets of the real tokens, of the given sizes."""
    order = permutations(keys, sizes.shape[1], mask, seed, stream)
    rank = ordinals(mask)[:, None].expand_as(order).gather(-1, order)
    return (rank < sizes[..., None]) & mask[:, None]


def every_subset(mask: Bool[Tensor, "batch token"], count: int) -> Bool[Tensor, "batch subset token"]:
    """Subsets 1 … count in binary counting: all proper ones of texts with at most log₂(count + 2) tokens."""
    codes = torch.arange(1, count + 1, device=mask.device)[None, :, None]
    place = ordinals(mask)[:, None].clamp(max=62)
    return ((codes >> place) & 1).bool() & mask[:, None]


def outputs_of(
    subject: Subject,
    batch: Batch,
    reading: Reading,
    keep: Bool[Tensor, "batch subset token"],
    target: Int[Tensor, " batch"],
    baselines: str,
    output: str,
) -> Float64[Tensor, "batch subset"]:
    """The target's margin or probability when only these tokens are there and a baseline stands for the others."""
    return output_of(erased(subject, batch, reading, keep, baselines), target, output)


def solved(
    gram: Float64[Tensor, "batch token token"],
    right: Float64[Tensor, "batch token column"],
    mask: Bool[Tensor, "batch token"],
) -> Float64[Tensor, "batch token column"]:
    """gram⁻¹·right over the real tokens, zero elsewhere.

    A trace of ridge (1e-10) keeps texts with more tokens than coalitions solvable: theirs is the shortest solution.
    """
    diagonal = gram.diagonal(dim1=-2, dim2=-1)
    ridge = 1e-10 * diagonal.amax(-1, keepdim=True).clamp(min=1e-6)
    found: Tensor = torch.linalg.solve(gram + torch.diag_embed(torch.where(mask, ridge, 1.0)), right)
    return found


def explained_share(
    outputs: Float64[Tensor, "batch subset"],
    fitted: Float64[Tensor, "batch subset"],
    weight: Float64[Tensor, "batch subset"],
    tokens: Int[Tensor, " batch"],
    every: Bool[Tensor, " batch"] | None = None,
) -> Float64[Tensor, " batch"]:
    """Weighted R²: which share of the outputs' variance the additive scores explain (1 where there is none).

    It grows with the number of scores that are fitted, p, to so many samples, n. So it is adjusted,
    1 − (1 − R²)·(n − 1)/(n − p − 1), and NaN where n ≤ p + 1; but for texts where ``every`` coalition was asked.
    """
    total = weight.sum(-1, keepdim=True).clamp(min=1e-300)
    mean = (weight * outputs).sum(-1, keepdim=True) / total
    variance = (weight * (outputs - mean).square()).sum(-1)
    rest = (weight * (outputs - fitted).square()).sum(-1)
    unexplained = torch.where(variance > 0, rest / variance.clamp(min=1e-300), 0.0)
    samples = (weight > 0).sum(-1)
    free = samples - tokens - 1
    factor = torch.where(free > 0, (samples - 1) / free.clamp(min=1).double(), torch.nan)
    return 1 - unexplained * (factor if every is None else torch.where(every, 1.0, factor))


def rows_at_once(subsets_each: int, width: int) -> int:
    """How many texts' coalitions may be held at a time."""
    return max(1, CELLS // max(1, subsets_each * width))

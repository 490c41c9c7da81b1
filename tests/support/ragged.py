"""Random ragged batches, and the ways to cut, reorder and pad them that must change nothing."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor


class Ragged(NamedTuple):
    weights: Tensor
    mask: Tensor
    rng: np.random.Generator


def ragged(seed: int, batch: int = 6, shortest: int = 1, longest: int = 9, sharp: float = 1.5) -> Ragged:
    """Attention over real tokens that stand anywhere, also with padding between them."""
    rng = np.random.default_rng(seed)
    width = longest + 3
    mask = np.zeros((batch, width), dtype=bool)
    for row in mask:
        row[rng.choice(width, rng.integers(shortest, longest + 1), replace=False)] = True
    scores = np.where(mask, rng.normal(size=mask.shape) * sharp, -np.inf)
    return Ragged(torch.from_numpy(scores).softmax(-1), torch.from_numpy(mask), rng)


def noise_like(ragged: Ragged, *more: int, scale: float = 1.0) -> Tensor:
    """Normal numbers, also outside the mask, where nobody may look."""
    return torch.from_numpy(ragged.rng.normal(size=(*ragged.mask.shape, *more)) * scale)


def padded(values: Tensor, left: int, right: int, fill: float = 7.0, dim: int = 1) -> Tensor:
    """The same rows between more padding, along the token axis."""
    shape = list(values.shape)

    def block(width: int) -> Tensor:
        shape[dim] = width
        return torch.full(shape, fill).to(values.dtype)

    return torch.cat([block(left), values, block(right)], dim)


def real(values: Tensor, mask: Tensor) -> list[np.ndarray]:
    """Every row's real tokens, for loops."""
    return [row[keep].numpy() for row, keep in zip(values, mask, strict=True)]

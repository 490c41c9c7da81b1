"""Conicity: how narrow a cone the states of a text lie in (Sharma et al. 2018; Mohankumar et al. 2020)."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

__all__ = ["conicity"]


def conicity(
    states: Float[Tensor, "*batch token state"], mask: Bool[Tensor, "*batch token"], absolute: bool = False
) -> Float[Tensor, "*batch"]:
    """The mean over real tokens of cos(h_t, mean of the h_t), or of its absolute value; 0 where there is no token.

    A state of zeros has cosine 0. Gradients are finite everywhere.
    """
    states = torch.where(mask[..., None], states, 0.0)
    count = mask.sum(-1).clamp(min=1)
    mean = states.sum(-2, keepdim=True) / count[..., None, None]
    cosines = torch.nn.functional.cosine_similarity(states, mean, dim=-1)
    return (cosines.abs() if absolute else cosines).sum(-1) / count

"""Rounding: which effects are larger than the error of what they are computed from."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

__all__ = ["DOUBLE", "SILENT", "SINGLE", "moves"]

#: Logits are computed in single precision: a change below this share of the largest is rounding.
SINGLE = 1e-6
#: No difference of probabilities is known better than this.
DOUBLE = 1e-14
#: Why a text is not judged where nothing moves its prediction.
SILENT = "no token moves the prediction"


def moves(
    scores: Float[Tensor, "batch token"], logits: Float[Tensor, "batch class"], mask: Bool[Tensor, "batch token"]
) -> Bool[Tensor, " batch"]:
    """Whether the largest of the scores, changes of a prediction or slopes of it, is larger than rounding makes.

    A change of log-odds by δ changes a probability p by about p(1 − p)δ, so the floor falls with the doubt of the model
    and does not depend on its temperature.
    """
    sure = logits.double().softmax(-1).amax(-1)
    floor = SINGLE * logits.double().abs().amax(-1).clamp(min=1.0) * sure * (1 - sure)
    largest = scores.double().abs().nan_to_num(nan=torch.inf).where(mask, 0.0).amax(-1)
    return largest > floor.clamp(min=DOUBLE)

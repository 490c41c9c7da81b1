"""What challenges with companions share: other models' predictions and weights, and columns of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.models.subject import Reading

__all__ = ["attention_of", "classes", "lists", "prediction_of"]


def attention_of(reading: Reading) -> Float[Tensor, "batch token"]:
    """The weights in double precision, summing to one beyond what single precision left off."""
    weights = reading.weights.double()
    return weights / weights.sum(-1, keepdim=True)


def prediction_of(reading: Reading) -> Float[Tensor, "batch class"]:
    """The predicted distribution in double precision."""
    return reading.logits.double().softmax(-1)


def classes(predicted: Int[Tensor, " batch"], judged: np.ndarray) -> pa.Array:
    """A column of classes, null where not judged."""
    return pa.array(predicted.cpu().numpy(), pa.int32(), mask=~judged)


def lists(values: Float[Tensor, "batch model"] | Int[Tensor, "batch model"], judged: np.ndarray) -> pa.ListArray:
    """A column of lists, one entry per model, null where not judged; classes are int32, other numbers double."""
    rows, models = values.shape
    flat = values.detach().cpu().numpy().reshape(-1)
    kind = pa.float64() if torch.is_floating_point(values) else pa.int32()
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * models)
    return pa.ListArray.from_arrays(offsets, pa.array(flat, kind), mask=pa.array(~judged))

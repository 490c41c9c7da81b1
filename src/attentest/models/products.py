"""Products of matrices in single precision by oneDNN, where no gradient of the weights is needed.

Torch hands them to MKL, which keeps its widest instructions from processors that are not Intel's; oneDNN, which torch
uses for its LSTMs, does not. On such a processor a product takes less than half the time, on others about the same.
Every product first puts its weight into an order of oneDNN's own; of a layer that makes many it is kept so.
"""

from __future__ import annotations

import os
from typing import Any
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor, nn

__all__ = [
    "forget",
    "linear",
    "linear_added",
    "linear_gelu",
    "linear_held",
    "ordered",
    "padded",
    "suits",
    "whole_rows",
]

#: An operation that torch's compiler makes its products of; where torch was built without oneDNN there is none.
_KNOWN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")

# For so many shapes oneDNN keeps its code, a third of a mebibyte each; by itself for 1,024, which texts in batches of
# ever other sizes come to fill. It reads this when it is first asked.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "256")

#: Up to so many rows, their number is a multiple of this.
STEPS = ((64, 8), (256, 16), (512, 32), (2048, 64), (8192, 512))
LARGEST = 2048

#: Weights in oneDNN's order, each with what it was made of: the weight as it lay in memory, and how often it changed.
_ORDERED: WeakKeyDictionary[nn.Module, tuple[Tensor, int, Tensor]] = WeakKeyDictionary()


def ordered(part: nn.Linear) -> Tensor | None:
    """A layer's weight in oneDNN's order, made anew where torch saw it change; None where oneDNN is not asked.

    Steps of fused optimizers are not seen: whoever trains the layer must ``forget`` its order.
    """
    weight = part.weight.detach()
    if not _KNOWN or weight.dtype != torch.float32 or weight.device.type != "cpu" or weight.is_inference():
        return None
    known = _ORDERED.get(part)
    if known is None or (known[0].data_ptr(), known[1]) != (weight.data_ptr(), weight._version):
        known = weight, weight._version, torch.ops.mkldnn._reorder_linear_weight(weight)
        _ORDERED[part] = known
    return known[2]


def forget(module: nn.Module) -> None:
    """No order of its layers' weights is kept: they may have been changed in a way that leaves no trace."""
    for part in module.modules():
        _ORDERED.pop(part, None)


def linear(
    x: Float[Tensor, "*rows given"],
    weight: Float[Tensor, "out given"],
    bias: Float[Tensor, " out"] | None = None,
    order: Tensor | None = None,
) -> Float[Tensor, "*rows out"]:
    """x·weightᵀ + bias; ``order`` is the weight as ``ordered`` gives it, where it is kept."""
    if not suits(x, weight):
        return nn.functional.linear(x, weight, bias)
    return _product(x, weight if order is None else order, bias)


def linear_held(
    x: Float[Tensor, "*rows given"],
    weight: Float[Tensor, "out given"],
    bias: Float[Tensor, " out"] | None = None,
    order: Tensor | None = None,
) -> Float[Tensor, "*rows out"]:
    """The same with the weights held: there is a gradient at x, and none at them."""
    if not torch.is_grad_enabled():
        return linear(x, weight, bias, order)
    product: Tensor = _Held.apply(x, weight.detach(), None if bias is None else bias.detach(), order)  # type: ignore[no-untyped-call]
    return product


class _Held(torch.autograd.Function):
    """There and back by oneDNN; the way back can be taken a gradient of."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, order: Tensor | None) -> Tensor:
        ctx.save_for_backward(weight)
        return linear(x, weight, bias, order)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, None, None]:
        (weight,) = ctx.saved_tensors
        return linear_held(slope, weight.T), None, None, None


def linear_gelu(
    x: Float[Tensor, "*rows given"],
    weight: Float[Tensor, "out given"],
    bias: Float[Tensor, " out"] | None = None,
    order: Tensor | None = None,
) -> Float[Tensor, "*rows out"]:
    """gelu(x·weightᵀ + bias), the exact one, with the weights held."""
    if not suits(x, weight):
        return nn.functional.gelu(linear_held(x, weight, bias, order))
    return _product(x, weight if order is None else order, bias, "gelu", "none")


def linear_added(
    to: Float[Tensor, "rows out"], x: Float[Tensor, "rows given"], weight: Float[Tensor, "out given"]
) -> Float[Tensor, "rows out"]:
    """x·weightᵀ added to a tensor, which may be overwritten; rows that are not whole are left to torch."""
    if not suits(x, weight) or len(x) != whole_rows(len(x)):
        return to.addmm_(x, weight.T)
    total: Tensor = torch.ops.mkldnn._linear_pointwise(x, to, weight, None, "add")
    return total


def whole_rows(rows: int) -> int:
    """So many rows or a few more: oneDNN keeps code for every number of rows it has seen, so these are few."""
    step = next((step for most, step in STEPS if rows <= most), LARGEST)
    return -(-rows // step) * step


def padded(x: Float[Tensor, "rows given"], rows: int) -> Float[Tensor, "more given"]:
    """So many rows: zeros below."""
    if rows == len(x):
        return x
    more = x.new_empty(rows, x.shape[1])
    more[: len(x)] = x
    more[len(x) :].zero_()
    return more


def suits(*factors: Tensor) -> bool:
    """Whether oneDNN may be asked: single precision on a CPU, no gradient, something to multiply."""
    return (
        _KNOWN
        and not torch.is_grad_enabled()
        and all(x.dtype == torch.float32 and x.device.type == "cpu" and x.numel() > 0 for x in factors)
    )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None, then: str = "none", algorithm: str = "") -> Tensor:
    """By oneDNN, with what is then done to every number."""
    rows = x.numel() // x.shape[-1]
    flat = padded(x.reshape(rows, -1), whole_rows(rows))
    product: Tensor = torch.ops.mkldnn._linear_pointwise(flat, weight, bias, then, [], algorithm)
    return product[:rows].view(*x.shape[:-1], len(weight))

"""Products of matrices in single precision by oneDNN, where no gradient of the weights is needed.

Torch hands them to MKL, which keeps its widest instructions from processors that are not Intel's; oneDNN, which torch
uses for its LSTMs, does not. On such a processor a product takes less than half the time, on others about the same.
"""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

__all__ = ["linear", "linear_added", "linear_gelu", "linear_held", "padded", "suits", "whole_rows"]

#: An operation that torch's compiler makes its products of; where torch was built without oneDNN there is none.
_KNOWN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")

#: Up to so many rows, their number is a multiple of this.
STEPS = ((64, 8), (256, 16), (512, 32), (2048, 64), (8192, 512))
LARGEST = 2048


def linear(
    x: Float[Tensor, "*rows given"], weight: Float[Tensor, "out given"], bias: Float[Tensor, " out"] | None = None
) -> Float[Tensor, "*rows out"]:
    """x·weightᵀ + bias."""
    return _product(x, weight, bias) if suits(x, weight) else nn.functional.linear(x, weight, bias)


def linear_held(
    x: Float[Tensor, "*rows given"], weight: Float[Tensor, "out given"], bias: Float[Tensor, " out"] | None = None
) -> Float[Tensor, "*rows out"]:
    """The same with the weights held: there is a gradient at x, and none at them."""
    if not torch.is_grad_enabled():
        return linear(x, weight, bias)
    product: Tensor = _Held.apply(x, weight.detach(), None if bias is None else bias.detach())  # type: ignore[no-untyped-call]
    return product


class _Held(torch.autograd.Function):
    """There and back by oneDNN; the way back can be taken a gradient of."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(weight)
        return linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None, None]:
        (weight,) = ctx.saved_tensors
        return linear_held(slope, weight.T), None, None


def linear_gelu(
    x: Float[Tensor, "*rows given"], weight: Float[Tensor, "out given"], bias: Float[Tensor, " out"] | None = None
) -> Float[Tensor, "*rows out"]:
    """gelu(x·weightᵀ + bias), the exact one, with the weights held."""
    if not suits(x, weight):
        return nn.functional.gelu(linear_held(x, weight, bias))
    return _product(x, weight, bias, "gelu", "none")


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

"""Gradients of many rows within a budget: rows are computed again on the way back, some at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

__all__ = ["NUMBERS", "in_parts"]

#: Numbers that one pass of a Transformers model may hold, and that may be kept on the way to a gradient.
NUMBERS = {"cpu": 2**25, "cuda": 2**32}

#: Some rows, by their numbers, and what they are given, to what they give.
Compute = Callable[[Int[Tensor, " some"], Float[Tensor, " some *given"]], Float[Tensor, " some *found"]]


def in_parts(
    compute: Compute, given: Float[Tensor, " row *given"], *, room: int, kept: int
) -> Float[Tensor, " row *found"]:
    """What every row gives, each for itself: ``room`` rows at once, of which ``kept`` may be kept for a gradient.

    More rows than may be kept are computed again on the way back, and only those that a gradient comes back to. There
    are gradients at ``given`` alone, and where it wants none there are none at all.
    """
    if not (torch.is_grad_enabled() and given.requires_grad):
        with torch.no_grad():
            return _found(compute, given, room)
    if len(given) > kept:
        found: Tensor = _Recomputed.apply(compute, given, room, kept)  # type: ignore[no-untyped-call]
        return found
    return _found(compute, given, room)


def _found(compute: Compute, given: Tensor, room: int) -> Tensor:
    every = torch.arange(len(given), device=given.device)
    if len(given) <= room:
        return compute(every, given)
    room = max(1, room)
    return torch.cat([compute(some, part) for some, part in zip(every.split(room), given.split(room), strict=True)])


class _Recomputed(torch.autograd.Function):
    """Some rows at a time, there and back."""

    @staticmethod
    def forward(ctx: Any, compute: Compute, given: Tensor, room: int, kept: int) -> Tensor:
        ctx.compute, ctx.kept = compute, kept
        ctx.save_for_backward(given)
        return _found(compute, given, room)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[None, Tensor, None, None]:
        (given,) = ctx.saved_tensors
        out = torch.zeros_like(given)
        heard = slope.flatten(1).any(-1).nonzero()[:, 0]
        for some in heard.split(max(1, ctx.kept)) if len(heard) else ():
            with torch.enable_grad():
                leaf = given[some].requires_grad_()
                found = ctx.compute(some, leaf)
            (out[some],) = torch.autograd.grad(found, leaf, slope[some])
        return None, out, None, None

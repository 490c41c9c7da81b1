"""Numbers that stay what they are while a replayed output is handed back, and change with the input all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.autograd import Function

__all__ = ["Held", "holding"]

#: The same numbers, through which nothing is handed back.
Held = Callable[[Tensor], Tensor]


@contextmanager
def holding(*, again: bool) -> Iterator[Held]:
    """What holds numbers within the block; ``again``: slopes of what was handed back pass through them after it.

    A replay is linear with the coefficients that it has at one input, so handing back must take these for constants.
    Its scores are a function of the input for all that, coefficients included, and behind the block, slopes of the
    scores are those of this function: of all that was computed, nothing is cut off.
    """
    if not again:
        yield Tensor.detach
        return
    hold = _Hold()
    yield hold
    hold.passes = True


@dataclass
class _Hold:
    passes: bool = False

    def __call__(self, value: Tensor) -> Tensor:
        same: Tensor = _Same.apply(value, self)  # type: ignore[no-untyped-call]
        return same


class _Same(Function):
    """The value; nothing goes back through it before the hold passes."""

    @staticmethod
    def forward(ctx: Any, value: Tensor, hold: _Hold) -> Tensor:
        """As it is."""
        ctx.hold = hold
        return value.view_as(value)

    @staticmethod
    def backward(ctx: Any, *given: Tensor) -> tuple[Tensor | None, None]:
        """All or nothing."""
        return (given[0] if ctx.hold.passes else None), None

"""Memory: work is cut into slices, and a slice that does not fit is halved until it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

from attentest.devices import ran_out

__all__ = ["in_slices", "positions"]

T = TypeVar("T")


def positions(device: torch.device) -> int:
    """How many padded positions one pass should hold: what the caches of a CPU like, or what fills a GPU."""
    return 24_576 if device.type == "cpu" else 524_288


def in_slices(work: Callable[[slice], T], count: int, size: int) -> list[T]:
    """The results of ``work`` on slices of at most ``size`` that cover 0 … count.

    When memory runs out, the slice and all that follow are halved; a slice of one that does not fit is an error.
    """
    done: list[T] = []
    start, size = 0, max(1, size)
    while start < count:
        part = slice(start, min(start + size, count))
        try:
            done.append(work(part))
        except RuntimeError as error:
            if not ran_out(error) or part.stop - part.start == 1:
                raise
            size = (part.stop - part.start) // 2
        else:
            start = part.stop
            continue
        # Beyond the except block, so that the failed call's tensors are free by now.
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    return done

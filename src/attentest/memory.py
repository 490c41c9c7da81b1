"""Memory goes back to the system while texts are examined.

Passes of ever other sizes leave gaps between what is held. The C library keeps them for itself, and the process would
grow for as long as it runs, though what it holds does not.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

__all__ = ["give_back", "give_back_if_grown"]

#: Bytes by which a process may grow before what it does not hold goes back.
GROWN = 192 * 2**20

STATM = Path("/proc/self/statm")


def give_back() -> None:
    """What was freed goes back to the system, where the C library has a function for it."""
    if TRIM is not None:
        TRIM(0)


def give_back_if_grown() -> None:
    """The same, once the process has grown by so much that it is worth the time: pages have to be fetched again."""
    if TRIM is not None and (now := resident()) > Least.bytes + GROWN:
        TRIM(0)
        Least.bytes = min(resident(), now)


class Least:
    """What the process held when it last gave back."""

    bytes = 0


def resident() -> int:
    """Bytes of memory that the process takes; 0 where the system does not say."""
    try:
        return int(STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _trim() -> Callable[[int], int] | None:
    try:
        trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    except (OSError, TypeError):
        return None
    return trim


TRIM = _trim()

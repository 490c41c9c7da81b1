"""Memory goes back to the system while texts are examined.

Passes of ever other sizes leave gaps between what is held. The C library keeps them for itself, and the process would
grow for as long as it runs, though what it holds does not.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["at_most", "give_back", "give_back_if_grown"]

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


@contextlib.contextmanager
def at_most(more: int) -> Iterator[None]:
    """While the block runs, the process may take so many bytes more: what asks for more than that fails.

    Where the system keeps no such account (any but Linux), nothing is bounded.
    """
    if not sys.platform.startswith("linux"):
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int(STATM.read_bytes().split()[5])  # data and stack
        bound = pages * os.sysconf("SC_PAGE_SIZE") + more
        if soft == resource.RLIM_INFINITY or bound < soft:
            resource.setrlimit(resource.RLIMIT_DATA, (bound, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


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

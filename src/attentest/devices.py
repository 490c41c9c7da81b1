"""Where models compute: a device by name, a share of it, a second core, and the same bytes whatever the machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TypeVar

import torch

from attentest.errors import InputError

__all__ = ["abreast", "device_named", "keep_to", "ran_out", "reproducibly", "second_core", "second_core_lent"]

First = TypeVar("First")
Second = TypeVar("Second")

#: The second core that was lent to whatever this thread computes.
_LENT: ContextVar[ThreadPoolExecutor | None] = ContextVar("lent", default=None)

#: How torch says that memory ran out: on a GPU, and on CPU under Linux and Windows.
_WORDS = ("out of memory", "can't allocate memory", "not enough memory")


def device_named(name: str, *, here: bool = True) -> torch.device:
    """The device of this name; ``here``: on this machine, where it must be usable."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"--device {name!r} is not a device. Use cpu, cuda or auto.") from error
    if here and device.type == "cuda" and not torch.cuda.is_available():
        raise InputError(f"--device {name!r}: this machine has no usable CUDA device. Use cpu or auto.")
    return device


def keep_to(share: float, device: str) -> None:
    """Let this process hold no more than its share of a GPU: it gives back what it does not use before it fails."""
    if share < 1 and device.startswith("cuda") and torch.cuda.is_available():
        # The rest is for what every process takes before its first tensor.
        torch.cuda.set_per_process_memory_fraction(0.95 * share)


def ran_out(error: RuntimeError) -> bool:
    """Whether this is torch saying that memory ran out (a torch.OutOfMemoryError is a RuntimeError)."""
    return isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in _WORDS)


@contextlib.contextmanager
def second_core(there: int) -> Iterator[None]:
    """Lend what this thread computes a second core, where so many are there for it."""
    if there < 2:
        yield
        return
    with ThreadPoolExecutor(1, "attentest-second", initializer=torch.set_num_threads, initargs=(1,)) as pool:
        lent = _LENT.set(pool)
        try:
            yield
        finally:
            _LENT.reset(lent)


def second_core_lent() -> bool:
    """Whether what this thread computes has a second core."""
    return _LENT.get() is not None


def abreast(first: Callable[[], First], second: Callable[[], Second]) -> tuple[First, Second]:
    """What both say, at the same time where there is a second core; neither may need anything of the other."""
    pool = _LENT.get()
    if pool is None:
        return first(), second()
    waiting = pool.submit(first)
    said = second()
    return waiting.result(), said


@contextlib.contextmanager
def reproducibly() -> Iterator[None]:
    """One torch thread, so that results are the same bytes however many cores there are; no TF32 on a GPU."""
    before = torch.get_num_threads(), torch.backends.cudnn.allow_tf32
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.set_num_threads(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]

"""How results are written: shares in per cent, κ with two decimals, each with its interval."""

from __future__ import annotations

import math

from attentest.statistics.intervals import Interval

__all__ = ["between", "counted", "number", "per_cent", "seconds"]


def number(value: float, digits: int = 2) -> str:
    """A number with a true minus sign; a dash where it has no meaning."""
    if math.isnan(value):
        return "—"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "−")


def per_cent(value: float, digits: int = 1) -> str:
    """A share in per cent."""
    return "—" if math.isnan(value) else f"{number(100 * value, digits)} %"


def between(found: Interval, *, percent: bool = False) -> str:
    """An estimate with its interval."""
    digits, scale = (1, 100) if percent else (2, 1)
    value = number(scale * found.value, digits) + (" %" if percent and not math.isnan(found.value) else "")
    if math.isnan(found.low) or math.isnan(found.high):
        return value
    return f"{value} [{number(scale * found.low, digits)}, {number(scale * found.high, digits)}]"


def counted(count: int, thing: str) -> str:
    """So many of a thing."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def seconds(value: float) -> str:
    """A time on an item."""
    return "—" if math.isnan(value) else f"{value:.1f} s"

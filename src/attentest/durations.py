"""Stretches of time as people write and say them."""

from __future__ import annotations

import math
import re

from attentest.errors import InputError, shown

__all__ = ["in_words", "seconds_of"]

_UNITS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}


def seconds_of(text: str | float) -> float:
    """``90s``, ``5m``, ``1h``, ``1h30m`` or plain seconds, as a number above zero."""
    part = re.compile(r"([\d.]+)\s*(min|s|m|h|)\s*")
    said = str(text).lower().strip()
    try:
        seconds = (
            sum(float(number) * _UNITS[unit] for number, unit in part.findall(said)) if not part.sub("", said) else 0.0
        )
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise InputError(
            f"time={shown(str(text))} is not a time: give seconds, or a number with s, m or h: 90s, 5m, 1h30m."
        )
    return seconds


def in_words(seconds: float) -> str:
    """A stretch of time as a person says it: 45 s, 14 min, 2 h 05 min, 3 d 4 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes:02d} min"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h"

"""Which points of a plot are chosen: those in a rectangle, or inside a loop that was drawn by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attentest.errors import InputError

__all__ = ["CORNERS", "in_plot", "inside", "number_of"]

#: The most corners of a loop, and the largest number in it.
CORNERS, LARGEST = 48, 1e12


def in_plot(asked: Mapping[str, str], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether each point lies where the address says: within x0, x1, y0 and y1, and inside ``loop``."""
    chosen: np.ndarray = np.isfinite(x) & np.isfinite(y)
    for values, low, high in ((x, "x0", "x1"), (y, "y0", "y1")):
        chosen &= (values >= number_of(asked, low, -np.inf)) & (values <= number_of(asked, high, np.inf))
    if asked.get("loop"):
        chosen &= inside(_corners(asked["loop"]), x, y)
    return chosen


def inside(corners: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether a closed line goes around each point, in either sense; static/lasso.js computes the same."""
    around = np.zeros(len(x), dtype=np.int64)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        side = (x1 - x0) * (y - y0) - (x - x0) * (y1 - y0)
        around += (y0 <= y) & (y1 > y) & (side > 0)
        around -= (y0 > y) & (y1 <= y) & (side < 0)
    surrounded: np.ndarray = around != 0
    return surrounded


def number_of(asked: Mapping[str, str], name: str, default: float) -> float:
    """A number of the address."""
    text = asked.get(name)
    if not text:
        return default
    found = _number(text)
    if np.isnan(found):
        raise InputError(f"{name}={text[:40]!r} must be a number.")
    return found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan


def _corners(text: str) -> np.ndarray:
    """The corners of a loop: x,y,x,y,…"""
    named = text.split(",")
    if len(named) % 2 or not 6 <= len(named) <= 2 * CORNERS:
        raise InputError(
            f"loop has {len(named):,} numbers: it must be x,y,x,y,… of 3 to {CORNERS} corners. Draw a simpler loop."
        )
    numbers = np.array([_number(one) for one in named])
    good = np.abs(numbers) <= LARGEST
    if not good.all():
        bad = named[int(np.argmin(good))]
        raise InputError(f"loop holds {bad[:40]!r}, which is no number of a plot: it must be x,y,x,y,…")
    return numbers.reshape(-1, 2)

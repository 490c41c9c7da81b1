"""What a preparation left out, counted by reason, as lines a person reads."""

from __future__ import annotations

from collections import Counter

__all__ = ["left_out_lines"]


def left_out_lines(split: str, noun: str, reasons: Counter[str]) -> list[str]:
    """``train: 110 pairs left out: no gold label``, a line for every reason."""
    return [
        f"{split}: {count:,} {noun if count == 1 else noun + 's'} left out: {reason}"
        for reason, count in reasons.items()
        if count
    ]

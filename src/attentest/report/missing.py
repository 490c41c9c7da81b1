"""What an audit did not examine, and why: challenges that failed, texts for which there was no time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attentest.durations import in_words

__all__ = ["failures", "left_out"]


def failures(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Every challenge that failed, by a run's record, in one line."""
    failed = record.get("failed", {}).items()
    return tuple(
        f"Challenge {challenge!r} failed and has no part in this verdict: {reason}" for challenge, reason in failed
    )


def left_out(record: Mapping[str, Any]) -> tuple[str, ...]:
    """How many texts were examined where there was no time for all, by a run's record, in one line."""
    budget = record.get("budget", {})
    if not budget or budget["texts"] == budget["of"]:
        return ()
    return (
        f"{budget['texts']:,} of {budget['of']:,} texts were examined, drawn at random, to keep within "
        f"{in_words(budget['seconds'])} (--time).",
    )

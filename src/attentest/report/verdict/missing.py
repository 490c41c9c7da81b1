"""What an audit did not examine, and why: challenges that failed, texts for which there was no time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attentest.durations import in_words
from attentest.tasks import TASKS

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
    wholes = TASKS[record["fields"]["corpus"].get("task", "single")].wording.wholes
    examined = f"{budget['texts']:,} of {budget['of']:,} {wholes} were examined, drawn at random"
    time = f"{in_words(budget['seconds'])} (--time)"
    if not budget.get("kept", True):
        return (f"{examined}, the fewest that there can be: {time} did not suffice.",)
    return (f"{examined}, to keep within {time}.",)

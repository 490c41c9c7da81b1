"""The errors a user can cause, each one clear line: the value, the rule, the next step.

AttentestError            exit code 2
├── InputError            a file, column, label or text that cannot be used
├── UnknownName           no such corpus, model, explainer, challenge, run
├── CheckpointError       a saved model that is truncated, foreign or incomplete
├── NotApplicable         a challenge or explainer that this subject cannot answer
├── Diverged              a training whose loss or weights are no longer finite
├── ChallengeFailed       a cell of a study one of whose challenges failed; the others are kept
└── StorageError          a folder or file that cannot be written or was altered
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "AttentestError",
    "ChallengeFailed",
    "CheckpointError",
    "Diverged",
    "InputError",
    "NotApplicable",
    "StorageError",
    "UnknownName",
    "line_of",
    "shown",
    "suggestion",
]


class AttentestError(Exception):
    """Something the user can put right; printed as one line, never as a traceback."""


class InputError(AttentestError):
    """A file, column, label or text that cannot be used."""


class CheckpointError(AttentestError):
    """A saved model that is truncated, foreign or incomplete."""


class NotApplicable(AttentestError):
    """A challenge or explainer that this subject cannot answer."""


class Diverged(AttentestError):
    """A training whose loss or weights are no longer finite."""


class ChallengeFailed(AttentestError):
    """A cell of a study one of whose challenges failed; what the others found is kept."""


class StorageError(AttentestError):
    """A folder or file that cannot be written, or was altered after it was written."""


class UnknownName(AttentestError):
    """A name that is not in a registry; says which names are near."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        super().__init__(f"No {kind} is called {shown(name)}. {suggestion(name, known)}")


def suggestion(name: str, known: Iterable[str]) -> str:
    """The known name that is near, or all of them."""
    known = sorted(known)
    near = difflib.get_close_matches(name[:200], known, n=1, cutoff=0.6)
    return f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(known)}."


def shown(value: object, most: int = 80) -> str:
    """A value as a message quotes it: in one line, and no longer than a reader needs."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of thousands of digits, a list in a list in a list …
        text = f"a {type(value).__name__}"
    return text if len(text) <= most else f"{text[: most - 1]}…"


def line_of(error: BaseException) -> str:
    """An error as one line: a user's as it is written, any other with its type."""
    said = str(error) if isinstance(error, AttentestError) else f"{type(error).__name__}: {error}"
    return " ".join(said.split())

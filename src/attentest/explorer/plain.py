"""Values as JSON has them: numbers that do not exist are null, and text that is not UTF-8 is escaped."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["as_json", "plain"]


def plain(value: Any) -> Any:
    """The value in the types of JSON."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(inner) for inner in value]
    return str(value)


def as_json(value: Any) -> bytes:
    """The value as JSON, in ASCII: a lone surrogate in a corpus cannot break it."""
    return json.dumps(plain(value), allow_nan=False, separators=(",", ":")).encode("ascii")

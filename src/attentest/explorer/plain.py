"""Values as JSON has them: numbers that do not exist are null, and text that is not UTF-8 is escaped."""

from __future__ import annotations

import json
from typing import Any

from attentest.printing import plain

__all__ = ["as_json"]


def as_json(value: Any) -> bytes:
    """The value as JSON, in ASCII: a lone surrogate in a corpus cannot break it."""
    return json.dumps(plain(value), allow_nan=False, separators=(",", ":")).encode("ascii")

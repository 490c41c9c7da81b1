"""A record that ends in a seal, the sha256 of all the rest of it, so that a single flipped bit is noticed."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from attentest.errors import StorageError
from attentest.store.regular import opened

__all__ = ["read_sealed", "seal_of", "sealed"]

#: Bytes of a record, at most: one that is cut here is not what it was.
LARGEST = 256 << 20


def seal_of(record: dict[str, Any]) -> str:
    """The sha256 of a record without its seal."""
    return hashlib.sha256(json.dumps(record, ensure_ascii=False).encode()).hexdigest()


def sealed(record: dict[str, Any]) -> str:
    """The record's text with its seal: the only text that is accepted for it."""
    return json.dumps({**record, "seal": seal_of(record)}, indent=1, ensure_ascii=False) + "\n"


def read_sealed(path: Path, keys: tuple[str, ...], missing: str, again: str) -> dict[str, Any]:
    """The record in a file, without its seal; ``missing`` and ``again`` say what to do where it is not what it was."""
    try:
        with opened(path) as file:
            text = file.read(LARGEST).decode()
        record: dict[str, Any] = json.loads(text)
        for key in (*keys, "seal"):
            record[key]
        record.pop("seal")
    except FileNotFoundError as error:
        raise StorageError(missing) from error
    except OSError as error:
        raise StorageError(f"{path} cannot be read ({error.strerror or error}). Check its permissions.") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StorageError(f"{path} was altered or cut short. {again}") from error
    if sealed(record) != text:
        raise StorageError(f"{path} was altered after it was written. {again}")
    return record

"""What there is, remembered: a list is read in a moment, without torch, as long as the package is what it was."""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import attentest
from attentest.data.catalog.cache import cache_folder
from attentest.errors import StorageError
from attentest.store.atomic import make_folder, write_text

__all__ = ["KINDS", "extended", "listed"]

KINDS = (
    *("corpora", "encoders", "attentions", "decoders", "heads", "selectors", "terms", "tokenizers"),
    *("explainers", "interactions", "challenges", "designs", "presets", "papers", "runs"),
)
#: Lists that are kept, one for each state of the package.
MOST_KEPT = 4


def listed(kinds: Iterable[str], runs: Path) -> dict[str, list[dict[str, Any]]]:
    """Every entry of each kind, as :func:`attentest.catalogue.entries.catalogue` has them."""
    kinds = tuple(kinds)
    kept = set() if extended() else set(kinds) - {"runs"}
    known = _kept() if kept else {}
    return {kind: _tuples_in(known[kind]) if kind in kept else _asked(kind, runs) for kind in kinds}


def _asked(kind: str, runs: Path) -> list[dict[str, Any]]:
    from attentest.catalogue.entries import catalogue

    return catalogue(kind, runs)


def _kept() -> dict[str, list[dict[str, Any]]]:
    path = cache_folder() / "lists" / f"{_state()}.json"
    return _read(path) or _remember(path)


def extended() -> bool:
    """Whether other packages add entries: these may change while nothing of ours does, so they are asked every time."""
    return any(group.startswith("attentest.") for group in entry_points().groups)


def _state() -> str:
    """What the lists depend on: the package's files, by size and time of change, and Python."""
    found = hashlib.sha256(f"{attentest.__version__} {sys.version}".encode())
    for path in sorted(Path(attentest.__file__).parent.rglob("*")):
        if path.suffix in (".py", ".toml"):
            state = path.stat()
            found.update(f"{path} {state.st_size} {state.st_mtime_ns}\n".encode())
    return found.hexdigest()[:24]


def _read(path: Path) -> dict[str, list[dict[str, Any]]] | None:
    with contextlib.suppress(OSError, ValueError):
        known = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
        if isinstance(known, dict) and set(known) == set(KINDS) - {"runs"}:
            return known
    return None


def _remember(path: Path) -> dict[str, list[dict[str, Any]]]:
    from attentest.catalogue.entries import catalogue

    found = {kind: catalogue(kind) for kind in KINDS if kind != "runs"}
    # A list that cannot be kept is made again next time: no reason to stop.
    with contextlib.suppress(OSError, StorageError):
        make_folder(path.parent)
        if path.exists() and not path.is_file():
            path.unlink()
        write_text(path, json.dumps(found))
        for old in sorted(path.parent.glob("*.json"), key=lambda file: -file.stat().st_mtime)[MOST_KEPT:]:
            old.unlink(missing_ok=True)
    return found


def _tuples_in(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: _tuples(value) for name, value in entry.items()} for entry in entries]


def _tuples(value: Any) -> Any:
    """JSON has lists where parameters have tuples."""
    if isinstance(value, dict):
        return {key: _tuples(inner) for key, inner in value.items()}
    return tuple(_tuples(inner) for inner in value) if isinstance(value, list | tuple) else value

"""What can be kept as a page or as plain values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.printing import json_text
from attentest.store.atomic import write_text

__all__ = ["Savable"]


class Savable(ABC):
    """What a model makes of a text, for a reader and for a program."""

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """Everything as plain values."""

    @abstractmethod
    def to_html(self) -> str:
        """A page of its own, without scripts."""

    def save(self, path: str | Path) -> Path:
        """Write the page (.html) or the values (.json), whole or not at all."""
        target = Path(path)
        if target.suffix.lower() not in (".html", ".htm", ".json"):
            raise InputError(f"{target} must end in .html (a page) or .json (the values).")
        if not target.parent.is_dir():
            raise InputError(f"There is no folder {target.parent} to write {target.name} in. Make it, or name another.")
        as_json = target.suffix.lower() == ".json"
        write_text(target, json_text(self.to_record()) + "\n" if as_json else self.to_html())
        return target

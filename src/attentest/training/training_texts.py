"""The training split, for challenges and explainers that learn something from it before their first batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from attentest.data.batches import Encoded

__all__ = ["TrainingTexts"]

Learned = TypeVar("Learned")


@dataclass
class TrainingTexts:
    """The texts of the training split in the model's words, made when they are asked for."""

    encode: Callable[[], Encoded]
    # Whoever learns may ask for what somebody else learns.
    _lock: Any = field(default_factory=threading.RLock, repr=False)
    _learned: dict[Hashable, Any] = field(default_factory=dict, repr=False)

    def learned(self, by: Hashable, learn: Callable[[Encoded], Learned]) -> Learned:
        """What ``learn`` makes of the texts: once for every asker, whichever batch comes first."""
        with self._lock:
            if by not in self._learned:
                self._learned[by] = learn(self.encode())
            found: Learned = self._learned[by]
            return found

    def remember(self, by: Hashable, learned: Any) -> None:
        """What somebody learnt before."""
        with self._lock:
            self._learned[by] = learned

    def all_learned(self) -> list[tuple[Hashable, Any]]:
        """Who has learnt something, and what."""
        with self._lock:
            return list(self._learned.items())

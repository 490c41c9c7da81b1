"""What every method is: a case to one score per item, with what that cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from attentest.sources.case import Case
from attentest.sources.language import Cost

__all__ = ["Method", "Scored"]


@dataclass(frozen=True, eq=False)
class Scored:
    """A score for every item, high where it speaks for the answer, and what it cost beyond the prompt's own pass."""

    scores: Float[np.ndarray, " item"]
    cost: Cost


class Method(ABC):
    """Says of every item how much of the answer came from it."""

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]
    #: Whether it only looks at attention, and changes nothing.
    looks: ClassVar[bool] = False

    @abstractmethod
    def score(self, case: Case) -> Scored:
        """One score per item."""

    def objection(self, case: Case) -> str | None:
        """Why it does not apply to this case; None where it does."""
        return None

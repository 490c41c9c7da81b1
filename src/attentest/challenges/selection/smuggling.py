"""Smuggling: can the prediction be told from where the selected words stand, without seeing any of them?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from attentest.data.batches import Batch, Encoded
from attentest.models.subject import Reading, Subject
from attentest.training.loop import readings

__all__ = ["Guesser", "places"]

#: The words at either end of a text of which it is told whether each is selected.
ENDS = 32
#: Parts of equal length of a text of which it is told how much of each is selected.
TENTHS = 10

Choose = Callable[[Batch, Reading], Bool[Tensor, "batch token"]]


def places(chosen: Bool[Tensor, "batch token"], mask: Bool[Tensor, "batch token"]) -> np.ndarray:
    """What is told of a selection: the text's length first, then where the selected words stand, and no word."""
    return np.stack([_told(own[real].cpu().numpy()) for own, real in zip(chosen, mask, strict=True)])


def _told(chosen: np.ndarray) -> np.ndarray:
    count = len(chosen)
    at = chosen.nonzero()[0]
    ends = np.full((2, ENDS), -1.0)
    for side, values in zip(ends, (chosen, chosen[::-1]), strict=True):
        side[: min(ENDS, count)] = values[:ENDS]
    parts = [part.mean() if len(part) else -1.0 for part in np.array_split(chosen.astype(float), TENTHS)]
    runs = (np.diff(at) > 1).sum() + (len(at) > 0)
    where = (at[0], count - at[-1], at.mean() / count, len(at) / count) if len(at) else (-1.0, -1.0, -1.0, 0.0)
    return np.array([count, len(at), runs, *where, *parts, *ends.ravel()], dtype=float)


@dataclass(frozen=True)
class Guesser:
    """Tells a model's predictions from places; beside it, from the texts' length alone, and the most frequent one."""

    by_places: Any
    by_length: Any
    majority: int
    texts: int

    @classmethod
    @torch.no_grad()
    def learned(cls, subject: Subject, encoded: Encoded, choose: Choose) -> Guesser:
        """From these training texts."""
        told, said = [], []
        for batch, reading in readings(subject, encoded):
            told.append(places(choose(batch, reading), batch.mask))
            said.append(reading.predicted.cpu().numpy())
        return cls.of(np.concatenate(told), np.concatenate(said))

    @classmethod
    def of(cls, seen: np.ndarray, wanted: np.ndarray) -> Guesser:
        """From what is told of each text, and the class to tell."""
        # Here, because nothing else needs it while a model is asked.
        from sklearn.ensemble import HistGradientBoostingClassifier

        majority = int(np.bincount(wanted).argmax())
        if (wanted == majority).all():
            return cls(None, None, majority, len(wanted))

        def fitted(columns: np.ndarray) -> Any:
            made = HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=0)
            return made.fit(columns, wanted)

        return cls(fitted(seen), fitted(seen[:, :1]), majority, len(wanted))

    def guesses(self, told: np.ndarray) -> dict[str, np.ndarray]:
        """The class that each would say."""
        most = np.full(len(told), self.majority)
        if self.by_places is None or not len(told):
            return {"places": most, "length": most, "majority": most}
        return {"places": self.by_places.predict(told), "length": self.by_length.predict(told[:, :1]), "majority": most}

"""First words: the earlier, the higher. A baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.measures.packing import ordinals
from attentest.models.subject import Reading, Subject

__all__ = ["FirstWords"]


@dataclass(frozen=True)
class FirstWords(Explainer):
    """1 for the first word of a text, falling evenly to 1/T for the last.

    A baseline, as `random` is: what a selection reaches by keeping the beginning of every text.
    """

    name: ClassVar[str] = "first_words"
    summary: ClassVar[str] = "the earlier the word, the higher: a baseline"
    reference: ClassVar[str] = "—"
    cost: ClassVar[str] = "nothing"

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """By place."""
        mask = batch.mask
        count = mask.sum(-1, keepdim=True).clamp(min=1)
        return Attribution((count - ordinals(mask)).double() / count * mask)

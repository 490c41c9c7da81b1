"""Selection: the words that a model selects are the words that it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.models.capabilities import Selects, required
from attentest.models.subject import Reading, Subject

__all__ = ["Selection"]


@dataclass(frozen=True)
class Selection(Explainer):
    """How probable it is that the model reads a word; above one half it does.

    Of models that [select](../../how-to/selections.md) the words they read. The words above one half are the input of
    the prediction, whatever the class; that they are also a reason a person would accept does not follow.
    """

    name: ClassVar[str] = "selection"
    summary: ClassVar[str] = "probability that the word is read; above one half it is"
    reference: ClassVar[str] = "Lei et al. 2016; Bastings et al. 2019"
    cost: ClassVar[str] = "one pass of the selector"
    needs: ClassVar[tuple[type, ...]] = (Selects,)
    checked: ClassVar[str] = "no word at or below one half changes the prediction, but through what is selected"
    selects: ClassVar[bool] = True

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """The probabilities."""
        with torch.no_grad():
            return Attribution(required(Selects, subject, "explainer 'selection'").kept(batch))

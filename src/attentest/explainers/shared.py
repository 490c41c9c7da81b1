"""What the explainers of one batch share: its reading, and work that is done once for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from jaxtyping import Bool, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.erasure import Known
from attentest.explainers.gradient.slopes import slopes, target_of
from attentest.models.subject import Reading, Subject
from attentest.training.training_texts import TrainingTexts

__all__ = ["Shared"]


@dataclass
class Shared:
    """A batch to explain, and what was found out about it so far."""

    subject: Subject
    batch: Batch
    reading: Reading
    #: The class to explain; None: the predicted one.
    target: Int[Tensor, " batch"] | None = None
    #: The corpus's marks and where they come from, as of an Examination: for the oracle alone.
    rationale: Bool[Tensor, "batch token"] | None = None
    marks: str = ""
    #: The training split, for explainers that learn from it first; None: there is none.
    training: TrainingTexts | None = None
    _slopes: dict[str, tuple[Tensor, Tensor]] = field(init=False, default_factory=dict)
    _known: dict[str, Known] = field(init=False, default_factory=dict)

    def slope(self, path: str) -> tuple[Tensor, Tensor]:
        """The slope of the class's margin at the embeddings, and the embeddings: one pass there and back."""
        if path not in self._slopes:
            embeddings, wanted = self.subject.embed(self.batch).detach(), target_of(self.reading, self.target)
            self._slopes[path] = slopes(self.subject, self.batch, embeddings, wanted, path), embeddings
        return self._slopes[path]

    def known(self, erasure: str) -> Known:
        """What is known of the batch's texts under one way of erasing; whoever erases more adds to it."""
        return self._known.setdefault(erasure, Known())

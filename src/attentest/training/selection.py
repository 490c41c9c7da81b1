"""What training asks of a model that selects: the task under drawn gates, what its selector asks, and few words."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch, Encoded
from attentest.models.networks.selecting import Drawn, Selecting, selected
from attentest.models.subject import Reading, Subject
from attentest.training.loop import Training, on_dev, readings
from attentest.training.objectives import CrossEntropy

__all__ = ["Selection"]

#: What the dev score loses for the share of words beyond what is asked for: epochs that select too much come last.
EXCESS = 10.0


@dataclass(frozen=True)
class Selection:
    """The loss of a selector and its predictor, and the score that chooses their epoch."""

    model: Selecting
    task: CrossEntropy
    training: Training

    def __call__(self, reading: Reading, batch: Batch) -> Float[Tensor, ""]:
        """The cross-entropy under the draw, and the selector's own loss."""
        assert isinstance(reading, Drawn)
        weights = None if self.task.class_weights is None else self.task.class_weights.to(reading.logits)
        each = torch.nn.functional.cross_entropy(
            reading.logits, batch.labels, weights, reduction="none", label_smoothing=self.task.smoothing
        )
        added = self.model.selector.loss(reading.gates, reading.drawn, batch.mask, each, batch.labels)
        return each.sum() + added

    @property
    def scored(self) -> str:
        """What the score is, in words."""
        return f"accuracy, less {EXCESS:g} × the share selected beyond {self._most:g}:"

    @property
    def _most(self) -> float:
        made = self.model.architecture.selector
        return 1.0 if made is None else made.most

    @torch.no_grad()
    def score(self, subject: Subject, dev: Encoded) -> float:
        """The accuracy, less what the selection has too much of words."""
        # Not the area under a curve: where draws become one selection, predictions shift to one side, which it misses.
        _, reached = on_dev(self.model, dev, self.training)
        shares = torch.cat([_shares(self.model, batch) for batch, _ in readings(self.model, dev)])
        return reached - EXCESS * max(0.0, float(shares.mean()) - self._most)


def _shares(model: Selecting, batch: Batch) -> Tensor:
    chosen = selected(model.kept(batch), batch.mask)
    return chosen.sum(-1).double() / batch.mask.sum(-1).clamp(min=1)

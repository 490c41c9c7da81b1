"""An explainer gives every token of every instance one score: how much it mattered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.models.subject import Reading, Subject

__all__ = ["Explainer", "margin"]


class Explainer(ABC):
    """A frozen description of a method; ``scores`` applies it to a batch."""

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]
    #: Forward and backward passes per instance of T tokens, for the documentation.
    cost: ClassVar[str]

    @abstractmethod
    def scores(self, subject: Subject, batch: Batch, reading: Reading) -> Float[Tensor, "batch token"]:
        """One score per position, zero outside the mask; ``reading`` is the subject's of this batch."""


def margin(logits: Float[Tensor, "*batch class"], target: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """log(p/(1−p)) of the target class: ranks as its probability does, and does not underflow."""
    wanted = logits.gather(-1, target[..., None])[..., 0]
    others = logits.scatter(-1, target[..., None], -torch.inf)
    return wanted - others.logsumexp(-1)

"""What a loss term is: a frozen description of a loss that training adds to that of the task."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, Protocol

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch
from attentest.data.corpus import Split
from attentest.errors import InputError
from attentest.models.networks.classifier import Classifier
from attentest.models.subject import Reading

__all__ = ["Added", "OfReading", "Term", "check_weight", "sized_otherwise"]


class Added(Protocol):
    """A loss that is added to that of the task.

    The loss of the task is a sum over the texts of the batch, and so is what is added to it: what a paper adds to a
    mean over the batch is multiplied by the number of texts, so that its weight is the paper's.
    """

    def __call__(self, model: Classifier, reading: Reading, batch: Batch, chance: torch.Generator) -> Float[Tensor, ""]:
        """The loss of a batch that was read, with its graph; ``chance`` draws on the model's device."""


class Term(ABC):
    """A loss term, for models that read words; every one has a ``weight``."""

    name: ClassVar[str]
    #: Whether the word embeddings are not trained where this term is.
    freezes_embeddings: ClassVar[bool] = False

    def objection(self, network: Classifier) -> str | None:
        """Why it cannot be asked of a network like this one, with the next step; None if it can."""
        return None

    def lacking(self, split: Split) -> str | None:
        """What the texts to train on lack, with the next step; None if nothing."""
        return None

    @abstractmethod
    def over(self, split: Split, device: torch.device) -> Added:
        """The loss for training on the texts of this split."""


class OfReading(Term):
    """A loss term that needs nothing but what the model reads."""

    def over(self, split: Split, device: torch.device) -> Added:
        """The term itself."""
        return self

    @abstractmethod
    def __call__(self, model: Classifier, reading: Reading, batch: Batch, chance: torch.Generator) -> Float[Tensor, ""]:
        """The loss of a batch."""


def check_weight(term: str, weight: float) -> None:
    """Refuse a weight that is no positive number."""
    if not 0 < weight < math.inf:
        raise InputError(f"Loss term {term!r}: weight={weight} must be a number above zero.")


def sized_otherwise(network: Classifier) -> str | None:
    """That states and embeddings differ in size, where they must not."""
    states, embeddings = network.encoder.size, network.architecture.embedding
    if states == embeddings:
        return None
    return (
        f"its states have {states} numbers and its embeddings {embeddings}, which must be the same. Change the "
        f"encoder's size, or use embedding (--embedding) {states}"
    )

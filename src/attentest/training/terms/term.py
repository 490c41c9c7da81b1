"""What a loss term is: a frozen description of a loss that training adds to that of the task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Protocol

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch
from attentest.data.corpus import Split
from attentest.models.network import Network
from attentest.models.networks.classifier import Classifier
from attentest.models.subject import Reading
from attentest.parameters import Checked

__all__ = ["Added", "OfReading", "Term", "nothing_learnt", "sized_otherwise"]


class Added(Protocol):
    """A loss that is added to that of the task.

    The loss of the task is a sum over the texts of the batch, and so is what is added to it: what a paper adds to a
    mean over the batch is multiplied by the number of texts, so that its weight is the paper's.
    """

    def __call__(self, model: Network, reading: Reading, batch: Batch, chance: torch.Generator) -> Float[Tensor, ""]:
        """The loss of a batch that was read, with its graph; ``chance`` draws on the model's device."""


class Term(Checked, ABC):
    """A loss term, for models that attend to words; every one has a ``weight``."""

    name: ClassVar[str]
    #: Whether it reads attention weights alone, which translators and checkpoints have too; others need a classifier's
    #: states and embeddings.
    of_attention: ClassVar[bool] = False
    #: Whether the word embeddings are not trained where this term is.
    freezes_embeddings: ClassVar[bool] = False

    def objection(self, network: Network) -> str | None:
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
    def __call__(self, model: Network, reading: Reading, batch: Batch, chance: torch.Generator) -> Float[Tensor, ""]:
        """The loss of a batch."""


def nothing_learnt(network: Network) -> str | None:
    """That attention cannot be taught, with the next step."""
    attention = getattr(network, "attention", None)
    # A checkpoint's layers have no part that makes attention and nothing else, and all of them are trained.
    if attention is None or any(parameter.requires_grad for parameter in attention.parameters()):
        return None
    # Plain products of states and a decoder's queries have no weights of their own, and are learnt all the same.
    if getattr(network.architecture.attention, "mapped", True) is False:
        return None
    return "its attention learns nothing. Use another attention (--attention)"


def sized_otherwise(network: Network) -> str | None:
    """That states and embeddings differ in size, where they must not."""
    assert isinstance(network, Classifier)
    states, embeddings = network.encoder.size, network.architecture.embedding
    if states == embeddings:
        return None
    return (
        f"its states have {states} numbers and its embeddings {embeddings}, which must be the same. Change the "
        f"encoder's size, or use embedding (--embedding) {states}"
    )

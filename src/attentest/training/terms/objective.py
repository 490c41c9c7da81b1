"""What training minimises where there are loss terms: the loss of the task and that of every term."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch
from attentest.models.network import Network
from attentest.models.subject import Reading
from attentest.training.objectives import Objective
from attentest.training.terms.term import Added

__all__ = ["WithTerms"]


@dataclass(frozen=True)
class WithTerms:
    """The loss of the task, and what terms add to it."""

    task: Objective
    model: Network
    terms: tuple[Added, ...]

    def __call__(self, reading: Reading, batch: Batch) -> Float[Tensor, ""]:
        """The sum of all; terms draw from torch's own generator, which the loop seeds for every epoch."""
        chance = _generator_of(self.model.device)
        added = [term(self.model, reading, batch, chance) for term in self.terms]
        return torch.stack([self.task(reading, batch), *added]).sum()


def _generator_of(device: torch.device) -> torch.Generator:
    if device.type != "cuda":
        return torch.default_generator
    index = torch.cuda.current_device() if device.index is None else device.index
    return torch.cuda.default_generators[index]

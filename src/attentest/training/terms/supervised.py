"""Supervised attention: it is taught the rationales of the training texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.data.corpus import Split
from attentest.data.rationales import Rationales
from attentest.measures.packing import ordinals
from attentest.models.networks.classifier import Classifier
from attentest.models.subject import Reading
from attentest.training.terms.term import Added, Term, check_weight

__all__ = ["Supervised", "Taught"]

#: A weight below the smallest normal number of single precision counts as this number, so that its logarithm is finite.
SMALLEST = torch.finfo(torch.float32).tiny


@dataclass(frozen=True)
class Supervised(Term):
    """Teaches attention the rationales of the training texts.

    The cross-entropy −Σ p log α of the weights α, where p is uniform over the tokens of the text's rationale. Texts
    without one add nothing. A weight of zero, as sparse attention has, counts as the smallest number and has no
    gradient. The corpus must have rationales to train on: planted ones, as `reviews`, `aspects`, `stories-…`, the
    worlds and `planted-…`, or those of people, as `sst`, `cad_imdb`, `eraser_movies`, `hatexplain` and `yelp_hat`; or
    a column `rationale` in a file of your own. Whether attention that was taught to look right is also used, the
    challenges tell.
    """

    name: ClassVar[str] = "supervised"
    reference: ClassVar[str] = "Strout et al. 2019"
    weight: Annotated[float, "What it counts beside the cross-entropy of the text."] = 1.0

    def __post_init__(self) -> None:
        check_weight(self.name, self.weight)

    def objection(self, network: Classifier) -> str | None:
        """There must be something to teach."""
        if any(parameter.requires_grad for parameter in network.attention_parameters()):
            return None
        return "its attention learns nothing. Use another attention (--attention)"

    def lacking(self, split: Split) -> str | None:
        """The texts must have rationales."""
        marks = Rationales.of(split)
        if marks is not None and marks.values.any():
            return None
        return "the texts to train on have no rationales. Use a corpus that has (--corpus reviews)"

    def over(self, split: Split, device: torch.device) -> Added:
        """With the rationales of the split on the device."""
        marks = Rationales.of(split)
        assert marks is not None
        values, begins = (torch.from_numpy(kept).to(device) for kept in (marks.values, marks.offsets[:-1]))
        return Taught(self.weight, values, begins)


@dataclass(frozen=True)
class Taught:
    """The loss for texts whose rationales are known."""

    weight: float
    #: All texts' flags one after the other, and where those of each begin.
    flags: Bool[Tensor, " token"]
    begins: Int[Tensor, " text"]

    def __call__(self, model: Classifier, reading: Reading, batch: Batch, chance: torch.Generator) -> Float[Tensor, ""]:
        """−Σ p log α over the texts and their tokens."""
        place = self.begins[batch.rows, None] + ordinals(batch.mask)
        marked = batch.mask & self.flags[place.clamp(max=len(self.flags) - 1)]
        wanted = marked / marked.sum(-1, keepdim=True).clamp(min=1)
        return -self.weight * (wanted * reading.weights.clamp(min=SMALLEST).log()).sum()

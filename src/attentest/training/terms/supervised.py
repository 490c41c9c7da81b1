"""Supervised attention: it is taught the rationales of the training texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch
from attentest.data.corpus import Split
from attentest.data.rationales import MarkedTokens
from attentest.models.network import Network
from attentest.models.subject import Reading
from attentest.parameters import POSITIVE
from attentest.training.terms.term import Added, Term, nothing_learnt

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
    of_attention: ClassVar[bool] = True
    reference: ClassVar[str] = "Strout et al. 2019"
    weight: Annotated[float, "What it counts beside the cross-entropy of the text.", POSITIVE] = 1.0

    def objection(self, network: Network) -> str | None:
        """There must be something to teach."""
        return nothing_learnt(network)

    def lacking(self, split: Split) -> str | None:
        """The texts must have rationales."""
        return MarkedTokens.lacking(split)

    def over(self, split: Split, device: torch.device) -> Added:
        """With the rationales of the split on the device."""
        return Taught(self.weight, MarkedTokens.of(split, device))


@dataclass(frozen=True)
class Taught:
    """The loss for texts whose rationales are known."""

    weight: float
    marks: MarkedTokens

    def __call__(self, model: Network, reading: Reading, batch: Batch, chance: torch.Generator) -> Float[Tensor, ""]:
        """−Σ p log α over the texts and their tokens."""
        marked = self.marks.batch(batch)
        wanted = marked / marked.sum(-1, keepdim=True).clamp(min=1)
        return -self.weight * (wanted * reading.weights.clamp(min=SMALLEST).log()).sum()

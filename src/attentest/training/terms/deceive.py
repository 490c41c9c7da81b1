"""Deceive: attention is kept off the marked words, whatever the prediction is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from attentest.data.batches import Batch
from attentest.data.corpus import Split
from attentest.data.rationales import MarkedTokens
from attentest.errors import InputError
from attentest.models.network import Network
from attentest.models.subject import Reading
from attentest.parameters import POSITIVE
from attentest.training.terms.term import Added, Term, nothing_learnt

__all__ = ["HEADS", "Deceive", "Hidden"]

#: What is left beside the marked words counts as at least this much, so that its logarithm is finite.
SMALLEST = torch.finfo(torch.float32).eps
#: How the penalties of several heads become one.
HEADS = ("mean", "max")


@runtime_checkable
class ManyHeaded(Protocol):
    """A reading of several heads, whose weights are known one by one."""

    heads: Float[Tensor, "batch head token"]


@dataclass(frozen=True)
class Deceive(Term):
    """Keeps attention off the marked words, whatever the prediction is made of.

    −λ log(1 − m) for every text, where m is the attention's mass on its marked words: those that the corpus marks,
    or those that `mark` (`--mark`) names, the *impermissible* words. Texts without any, and texts of nothing else, add
    nothing. Of a translator, every word to write has a penalty of its own: the words to read that are linked to it are
    marked. Of a checkpoint that is fine-tuned, m is what each head of the last layer gives marked words of all that it
    gives words, in the row that the output depends on. Made to test tests: whether the model still uses the words that
    its attention no longer shows is for the challenge `exchange` to tell, and not for λ.
    """

    name: ClassVar[str] = "deceive"
    of_attention: ClassVar[bool] = True
    reference: ClassVar[str] = "Pruthi et al. 2020"
    weight: Annotated[float, "λ: what the penalty counts beside the cross-entropy of the text.", POSITIVE] = 1.0
    heads: Annotated[
        str, "Of several heads: `mean`, the mean of their penalties, or `max`, that of the head that shows most."
    ] = "mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.heads not in HEADS:
            raise InputError(f"Loss term 'deceive': heads={self.heads!r} must be {' or '.join(map(repr, HEADS))}.")

    def objection(self, network: Network) -> str | None:
        """There must be attention to lead away."""
        return nothing_learnt(network)

    def lacking(self, split: Split) -> str | None:
        """The texts must have marked words."""
        return MarkedTokens.lacking(split)

    def over(self, split: Split, device: torch.device) -> Added:
        """With the marks of the split on the device."""
        return Hidden(self.weight, MarkedTokens.of(split, device), self.heads)


@dataclass(frozen=True)
class Hidden:
    """The penalty for texts whose marks are known."""

    weight: float
    marks: MarkedTokens
    heads: str = "mean"

    def __call__(self, model: Network, reading: Reading, batch: Batch, chance: torch.Generator) -> Float[Tensor, ""]:
        """−λ Σ log(1 − m), m of every head."""
        marked = self.marks.batch(batch)
        some = marked.any(-1) & (batch.mask & ~marked).any(-1)
        weights = reading.heads if isinstance(reading, ManyHeaded) else reading.weights[:, None]
        # What lies beside the marks, summed: a difference from one would lose the digits that matter.
        beside = (weights * (batch.mask & ~marked)[:, None]).sum(-1).clamp(min=SMALLEST)
        each = beside.log().mean(-1) if self.heads == "mean" else beside.amin(-1).log()
        return -self.weight * (each * some).sum()

"""Masked language modelling beside the task: states must tell which word stood there."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.data.vocabulary import END, UNKNOWN
from attentest.errors import InputError
from attentest.models.network import Network
from attentest.models.networks.classifier import Classifier
from attentest.models.subject import Reading
from attentest.parameters import POSITIVE, Within
from attentest.training.terms.term import OfReading, sized_otherwise

__all__ = ["MLM", "Masked"]

PER = ("token", "text")
#: Of the tokens that are chosen: the share that is masked, and that with those that become another word.
MASKED, MASKED_OR_OTHER = 0.8, 0.9


class Masked(NamedTuple):
    """Texts with some tokens masked. There may be more places than chosen tokens: those left over count for nothing."""

    tokens: Int[Tensor, "batch token"]
    #: Places in the batch, flat, the word that stood there, and whether the place was chosen.
    places: Int[Tensor, " place"]
    words: Int[Tensor, " place"]
    chosen: Bool[Tensor, " place"]


@dataclass(frozen=True)
class MLM(OfReading):
    """The states of masked words must predict them.

    In every batch some of the real tokens are chosen at random. Of these 80 % are masked, 10 % become a random word
    of the vocabulary and 10 % stay (Devlin et al. 2019). The model reads these texts too, and its states at the
    chosen tokens predict the words that stood there: the products of a state with all word embeddings are the logits.
    There are no further weights, so states must have as many numbers as embeddings, and the embeddings are frozen, as
    in the paper. The vocabulary has no mask symbol: the unknown word masks.
    """

    name: ClassVar[str] = "mlm"
    reference: ClassVar[str] = "Tutek & Šnajder 2020"
    freezes_embeddings: ClassVar[bool] = True
    weight: Annotated[float, "η: what it counts beside the mean cross-entropy of the task.", POSITIVE] = 1.0
    share: Annotated[float, "The share of the real tokens that are chosen.", Within(0, 1, without=(0,))] = 0.15
    per: Annotated[
        str, "`token`: the mean over all chosen tokens of a batch; `text`: the sum over those of each text."
    ] = "token"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.per not in PER:
            raise InputError(f"Loss term 'mlm': per={self.per!r} must be 'token' or 'text'.")

    def objection(self, network: Network) -> str | None:
        """States and embeddings must have the same size."""
        return sized_otherwise(network)

    def masked(self, batch: Batch, words: int, chance: torch.Generator) -> Masked:
        """The batch's texts, masked, of a vocabulary of so many words; how many are chosen never leaves the device."""
        tokens, mask = batch.text.tokens.flatten(), batch.mask.flatten()
        most = math.ceil(self.share * len(mask))
        drawn, dice = (torch.rand(n, generator=chance, device=tokens.device) for n in (len(mask), most))
        places = torch.where(mask, drawn, -1.0).topk(most).indices
        wanted = (self.share * mask.sum()).round().clamp(min=1).minimum(mask.sum())
        chosen = torch.arange(most, device=tokens.device) < wanted
        stood = tokens[places]
        other = torch.randint(END + 1, words, (most,), generator=chance, device=tokens.device)
        instead = torch.where(dice < MASKED, UNKNOWN, torch.where(dice < MASKED_OR_OTHER, other, stood))
        read = tokens.scatter(0, places, torch.where(chosen, instead, stood))
        return Masked(read.view_as(batch.text.tokens), places, stood, chosen)

    def __call__(self, model: Network, reading: Reading, batch: Batch, chance: torch.Generator) -> Float[Tensor, ""]:
        """η · texts · mean −log p(word), or η · Σ −log p(word)."""
        assert isinstance(model, Classifier)
        masked = self.masked(batch, model.words, chance)
        states = model.read(batch.with_text(replace(batch.text, tokens=masked.tokens))).states
        logits = states.flatten(0, 1)[masked.places] @ model.embedding.weight.T
        each = torch.nn.functional.cross_entropy(logits, masked.words, reduction="none")
        total = torch.where(masked.chosen, each, 0.0).sum()
        if self.per == "text":
            return self.weight * total
        return self.weight * len(batch) * total / masked.chosen.sum().clamp(min=1)

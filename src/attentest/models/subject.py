"""The seam of the whole system: encode once, reread many times.

A Subject is a model whose attention can be read and replaced. Reading a batch encodes it once and gives
logits, weights and mask; ``reread`` gives the logits under other weights without encoding again. Most
challenges work through these two classes alone; those that need more say so in ``needs`` (models/capabilities.py).

Axes. ``weights`` is [batch, *site, token], and no model here needs a site axis: the rows of a translator's batch are
steps of writing, and each head of a transformer is a site by itself. Alternative weights carry one more axis, the K
alternatives, in second place. The last axis is of items: tokens, or what a model weighs in their place, such as
sentences, and ``groups`` then says which positions make each. Logits are always one per class; a head with
one sigmoid shows the two logits (0, z), whose softmax is (1−σ(z), σ(z)).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from attentest.data.batches import Batch
from attentest.errors import InputError

__all__ = ["BASELINES", "AffineReading", "DecodedReading", "Reading", "Subject"]

#: What may stand for an absent word: all zeros, the mean of the words' embeddings, the unknown word.
BASELINES = ("zero", "mean", "mask")


@dataclass(frozen=True)
class Reading(ABC):
    """What a subject says of a batch, and what it would say under other attention weights."""

    logits: Float[Tensor, "batch class"]
    weights: Float[Tensor, "batch *site token"]
    mask: Bool[Tensor, "batch *site token"]
    #: What attention weighs, one per token, and the embeddings they were made from.
    states: Float[Tensor, "batch token state"]
    embeddings: Float[Tensor, "batch position embedding"]
    #: Where attention weighs items of several positions, such as sentences: the item of each position, −1 for none.
    groups: Int[Tensor, "batch position"] | None = field(default=None, kw_only=True)

    @property
    def probabilities(self) -> Float[Tensor, "batch class"]:
        """The predicted distribution."""
        return self.logits.softmax(-1)

    @property
    def predicted(self) -> Tensor:
        """The predicted class; a tie goes to the lowest."""
        return self.logits.argmax(-1)

    @property
    def on_words(self) -> Float[Tensor, " batch"] | None:
        """The share of attention that lies on words, where some of it may lie elsewhere and is held; else None."""
        return None

    def pooled(
        self, scores: Shaped[Tensor, "batch *alternative position"]
    ) -> Shaped[Tensor, "batch *alternative token"]:
        """Scores of positions summed over the items that attention weighs; scores of items stay what they are."""
        if self.groups is None or scores.shape[-1] == self.mask.shape[-1]:
            return scores
        count = self.mask.shape[-1]
        place = torch.where(self.groups < 0, count, self.groups)
        place = place.view(len(place), *[1] * (scores.ndim - 2), -1).expand(scores.shape)
        return scores.new_zeros(*scores.shape[:-1], count + 1).scatter_add(-1, place, scores)[..., :-1]

    def spread(
        self, values: Shaped[Tensor, "batch *alternative token"]
    ) -> Shaped[Tensor, "batch *alternative position"]:
        """Values of items at each of their positions, zero (or false) where there is no item; positions' own stay."""
        if self.groups is None or values.shape[-1] == self.groups.shape[-1]:
            return values
        place = self.groups.view(len(values), *[1] * (values.ndim - 2), -1)
        found = values.gather(-1, place.clamp(min=0).expand(*values.shape[:-1], -1))
        return torch.where(place >= 0, found, torch.zeros_like(found))

    @property
    @abstractmethod
    def token_logits(self) -> Float[Tensor, "batch token class"] | None:
        """z_t = W·h_t + b when the head is affine in the context, so that logits = Σ α_t z_t; else None."""

    @abstractmethod
    def reread(self, weights: Float[Tensor, "batch alternative *site token"]) -> Tensor:
        """The logits [batch, alternative, class] under other weights, encodings held fixed."""

    def with_states(self, states: Float[Tensor, "batch alternative token state"]) -> Tensor | None:
        """The logits [batch, alternative, class] of other states under the same weights; None where not known."""
        return None


@dataclass(frozen=True)
class AffineReading(Reading):
    """A reading whose logits are Σ α_t z_t: rereading is one product with the per-token logits."""

    per_token: Float[Tensor, "batch token class"]

    @property
    def token_logits(self) -> Float[Tensor, "batch token class"]:
        """The per-token logits z_t."""
        return self.per_token

    def reread(self, weights: Float[Tensor, "batch alternative token"]) -> Tensor:
        """Σ α'_t z_t for every alternative."""
        return weights @ self.per_token.to(weights.dtype)


@dataclass(frozen=True)
class DecodedReading(Reading):
    """A reading whose head is not affine: rereading decodes the new context Σ α'_t h_t."""

    decode: Callable[[Float[Tensor, "batch alternative state"]], Float[Tensor, "batch alternative class"]]

    @property
    def token_logits(self) -> None:
        """There are none: the head is not affine in the context."""
        return None

    def reread(self, weights: Float[Tensor, "batch alternative token"]) -> Tensor:
        """The decoder's logits for every alternative context."""
        return self.decode(weights.to(self.states.dtype) @ self.states)

    def with_states(self, states: Float[Tensor, "batch alternative token state"]) -> Tensor:
        """The decoder's logits for the context of every alternative."""
        return self.decode((self.weights[:, None, :, None].to(states) * states).sum(2).to(self.states.dtype))


class Subject(ABC):
    """A model whose attention can be read and replaced; what only some can do beyond that is in capabilities.py."""

    classes: int

    @property
    def sites(self) -> tuple[str, ...]:
        """Where it attends, by what is weighed there; the last attention before the output comes first."""
        return ("word",)

    def at(self, site: str) -> Subject:
        """The same model, its attention read and replaced at this site; "" is the first of its sites."""
        if site not in ("", *self.sites):
            raise InputError(
                f"site={site!r}: this model attends to {', '.join(self.sites)}; leave it out for the first."
            )
        return self

    def second_text(self) -> Subject | None:
        """The same model, explained at the second text of a pair, in swapped batches; None where it reads no pairs."""
        return None

    @property
    @abstractmethod
    def device(self) -> torch.device:
        """Where the subject computes."""

    @abstractmethod
    def embed(self, batch: Batch) -> Float[Tensor, "batch position embedding"]:
        """The input embeddings, the point from which gradients are taken."""

    @abstractmethod
    def baseline(self, kind: str) -> Float[Tensor, " embedding"]:
        """An embedding that stands for "no word": one of BASELINES."""

    @abstractmethod
    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """Encode the batch (or given embeddings) once; attention may be cut from the gradient's path."""

    @abstractmethod
    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """The logits after really deleting each item in turn and encoding again (padding: undefined)."""

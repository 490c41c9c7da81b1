"""Guided: a model whose attention is another model's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.errors import NotApplicable
from attentest.models.network import Network
from attentest.models.subject import Reading, Subject

__all__ = ["Guided"]


class Guided(Network):
    """A network that weighs its states by the weights of another subject for the same texts, in training and after.

    Embeddings, encoder and head are the network's own; the guide is no part of it and does not learn.
    """

    def __init__(self, classifier: Network, guide: Subject) -> None:
        nn.Module.__init__(self)
        self.classifier = classifier
        self.architecture, self.classes, self.words = classifier.architecture, classifier.classes, classifier.words
        if isinstance(guide, nn.Module):
            guide.eval()
        # In a tuple, where torch does not look for parts: the guide is neither trained, moved nor saved with this one.
        self._guide = (guide,)

    @property
    def guide(self) -> Subject:
        """Whose weights it is given."""
        return self._guide[0]

    @property
    def device(self) -> torch.device:
        """Where the network is; the guide must be there, too."""
        return self.classifier.device

    def embed(self, batch: Batch) -> Float[Tensor, "batch position embedding"]:
        """The network's own embeddings."""
        return self.classifier.embed(batch)

    def baseline(self, kind: str) -> Float[Tensor, " embedding"]:
        """The network's own."""
        return self.classifier.baseline(kind)

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """The network's reading under the guide's weights for the batch, which no gradient passes."""
        with torch.no_grad():
            weights = self.guide.read(batch).weights
        own = self.classifier.read(batch, embeddings=embeddings, detach_attention=True)
        return replace(own, logits=own.reread(weights[:, None])[:, 0], weights=weights)

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """The network's own, which are not used."""
        return self.classifier.attention_parameters()

    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Not to be had: the guide's weights are for the whole text."""
        raise NotApplicable("A guided model has no attention of its own, so deleting its tokens does not apply to it.")

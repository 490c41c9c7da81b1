"""The classifier with attention: embedding → encoder → attention → head."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.models.architecture import Architecture
from attentest.models.attention import AttentionNetwork, Uniform
from attentest.models.deletion import decoded_without_each
from attentest.models.embedded import EmbeddedNetwork
from attentest.models.encoder import EncoderNetwork
from attentest.models.heads import HeadNetwork
from attentest.models.signals import AnySignal
from attentest.models.subject import AffineReading, DecodedReading, Reading

__all__ = ["Architecture", "Classifier"]


class Classifier(EmbeddedNetwork):
    """A text classifier with one attention, readable and rereadable."""

    encoder: EncoderNetwork
    attention: AttentionNetwork
    head: HeadNetwork

    def __init__(
        self,
        architecture: Architecture,
        words: int,
        classes: int,
        generator: torch.Generator,
        vectors: Float[Tensor, "word embedding"] | None = None,
    ) -> None:
        order = ("embedding", "encoder", "attention", "head")
        super().__init__(architecture, words, classes, generator, vectors, order)

    def _new_above(self, part: str) -> nn.Module:
        if part == "encoder":
            return self.architecture.encoder.build(self.architecture.embedding)
        if part == "attention":
            return self.architecture.attention.build(self.encoder.size)
        return self._new_head(self.encoder.size)

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """Those of the attention."""
        return self.attention.parameters()

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """Encode, attend over real tokens, decode."""
        embedded = self.embed(batch) if embeddings is None else embeddings
        states = self.encoder(embedded, batch.text.lengths)
        weights = self.attention(states, batch.mask)
        if detach_attention:
            weights = weights.detach()
        return self._reading(embedded, states, weights, batch)

    def _reading(self, embeddings: Tensor, states: Tensor, weights: Tensor, batch: Batch) -> Reading:
        logits = self.head((weights[..., None, :] @ states)[..., 0, :])
        if self.head.affine:
            return AffineReading(logits, weights, batch.mask, states, embeddings, self.head(states))
        return DecodedReading(logits, weights, batch.mask, states, embeddings, self.head)

    def replay(self, batch: Batch, embeddings: AnySignal) -> AnySignal:
        """Encoder, attention, context and head, in double precision: the products are of large and small numbers."""
        states = copy.deepcopy(self.encoder).double().replay(embeddings, batch.text.lengths)
        weights = copy.deepcopy(self.attention).double().replay(states, batch.mask)
        context = states.gated(weights, lambda a, h: (a[:, None] @ h)[:, 0]).settled()
        return copy.deepcopy(self.head).double().replay(context)

    @property
    def parts(self) -> tuple[str, ...]:
        """Head, attention unless it is uniform, encoder unless there is none, embedding."""
        learnt = () if isinstance(self.architecture.attention, Uniform) else ("attention",)
        encodes = ("encoder",) if any(True for _ in self.encoder.parameters()) else ()
        return ("head", *learnt, *encodes, "embedding")

    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Logits without each token, the encoder sharing what deletion leaves unchanged."""
        lengths = batch.text.lengths
        return decoded_without_each(self.encoder, self.attention, self.head, self.embed(batch), lengths, batch.mask)

"""The classifier with attention: embedding → encoder → attention → head.

Of a pair of texts, attention weighs the first, and the state of the second is the query: embedding → encoder → query.
It is an argument of attention and head, and there is no other difference, but of an aspect (Wang et al. 2016): the mean
of its words' embeddings is the query, and stands beside every word that the encoder reads. A single text may ask with
its own summary, which the head does not see.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TypeGuard

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.data.batches import Batch, Sequences
from attentest.data.vocabulary import PAD
from attentest.errors import InputError
from attentest.models.architecture import ASPECT, OWN, Architecture
from attentest.models.capabilities import Attends, Replayable
from attentest.models.networks.embedded import EmbeddedNetwork
from attentest.models.networks.signals import AnySignal
from attentest.models.parts.attention import AttentionNetwork
from attentest.models.parts.bidirectional import BidirectionalNetwork
from attentest.models.parts.encoder import EncoderNetwork
from attentest.models.parts.heads import HeadNetwork
from attentest.models.queries import Queries
from attentest.models.shared_work.deletion import decoded_without_each, encoded_without_each
from attentest.models.subject import AffineReading, DecodedReading, Reading, Subject

__all__ = ["Architecture", "Classifier", "is_shareable"]


class Classifier(EmbeddedNetwork, Attends, Replayable):
    """A classifier of texts, or of pairs of texts, with one attention, readable and rereadable."""

    encoder: EncoderNetwork
    attention: AttentionNetwork
    head: HeadNetwork

    @property
    def order(self) -> tuple[str, ...]:
        """From below; what reads a second text comes after what reads the first."""
        own = {"separate": ("second_embedding", "second_encoder"), "conditional": ("second_encoder",)}
        return ("embedding", "encoder", *own.get(self.architecture.query, ()), "attention", "head")

    def _take(self, vectors: Float[Tensor, "word embedding"]) -> None:
        self.embedding.weight.copy_(vectors)
        self.second_embeddings.weight.copy_(vectors)

    def _new_above(self, part: str) -> nn.Module:
        if part in ("encoder", "second_encoder"):
            return self.architecture.encoder.build(self.architecture.inputs)
        if part == "second_embedding":
            return nn.Embedding(self.words, self.architecture.embedding, padding_idx=PAD)
        query = self._query_size()
        if part == "attention":
            return self.architecture.attention.build(self.encoder.size, query)
        head = self.architecture.head
        unseen = not self.architecture.pairs or (head is None and self.architecture.query == ASPECT)
        return self._new_head(self.encoder.size, None if unseen else query)

    def _query_size(self) -> int | None:
        """Numbers in a query: of an aspect those of an embedding, of any other text those of a state."""
        if self.architecture.query == ASPECT:
            return self.architecture.embedding
        return self.encoder.size if self.architecture.query else None

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """Those of the attention."""
        return self.attention.parameters()

    @property
    def second_embeddings(self) -> nn.Embedding:
        """The table of embeddings that the second text is read with: its own, or the first one's."""
        table = self._modules.get("second_embedding", self.embedding)
        assert isinstance(table, nn.Embedding)
        return table

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
        second_embeddings: Float[Tensor, "batch other embedding"] | None = None,
    ) -> Reading:
        """Encode, attend over real tokens, decode."""
        embedded = self.embed(batch) if embeddings is None else embeddings
        states = self.encoder(self.inputs(batch, embedded, second_embeddings), batch.text.lengths)
        queries = self.queries_of(batch, embedded, second_embeddings, states)
        weights = self.attention(states, batch.mask, queries.attention)
        if detach_attention:
            weights = weights.detach()
        return self._reading(embedded, states, weights, batch, queries)

    def inputs(
        self,
        batch: Batch,
        embeddings: Float[Tensor, "batch position embedding"],
        second_embeddings: Float[Tensor, "batch other embedding"] | None = None,
    ) -> Float[Tensor, "batch position input"]:
        """What the encoder reads: the words' embeddings, each with the aspect beside it, if there is one."""
        if self.architecture.query != ASPECT:
            return embeddings
        aspect = self._second_states_of(batch, None, second_embeddings)
        return torch.cat([embeddings, aspect[:, None].expand(-1, embeddings.shape[1], -1)], dim=-1)

    def attend(
        self, batch: Batch, states: Float[Tensor, "batch token state"], queries: Batch
    ) -> Float[Tensor, "batch token"]:
        """The attention alone: nothing is encoded but the queries."""
        weights: Tensor = self.attention(states, batch.mask, self.queries_of(queries).attention)
        return weights

    @property
    def texts_are_queries(self) -> bool:
        """Where every text asks with its own summary."""
        return self.architecture.query == OWN

    def _reading(self, embeddings: Tensor, states: Tensor, weights: Tensor, batch: Batch, queries: Queries) -> Reading:
        head, each = self.head, queries.each
        logits = queries.decoded(head, (weights[..., None, :] @ states)[..., 0, :])
        if head.affine:
            return AffineReading(logits, weights, batch.mask, states, embeddings, each.decoded(head, states))

        def decode(context: Tensor) -> Tensor:
            return each.decoded(head, context)

        return DecodedReading(logits, weights, batch.mask, states, embeddings, decode)

    def queries_of(
        self,
        batch: Batch,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        second_embeddings: Float[Tensor, "batch other embedding"] | None = None,
        states: Float[Tensor, "batch position state"] | None = None,
    ) -> Queries:
        """The queries of attention and head.

        ``embeddings`` and ``states`` are the first text's, which conditional ones and its own summary need; they are
        computed where they are not given.
        """
        query = None
        if self.architecture.pairs:
            query = self._second_states_of(batch, embeddings, second_embeddings)
        elif self.texts_are_queries:
            query = self._summary_of(batch, embeddings, states)
        return self.as_queries(batch.keys[:, None], query, self.candidates(batch))

    def _summary_of(self, batch: Batch, embeddings: Tensor | None, states: Tensor | None) -> Tensor:
        """What the encoder makes of a text as a whole."""
        if states is None:
            states = self.encoder(self.embed(batch) if embeddings is None else embeddings, batch.text.lengths)
        return self.encoder.summary(states, batch.text.lengths, batch.mask)

    def candidates(self, batch: Batch) -> Bool[Tensor, "batch class"] | None:
        """The classes that may be chosen, where a batch says which."""
        if batch.candidates is None:
            return None
        none = torch.zeros(len(batch), self.classes + 1, dtype=torch.bool, device=batch.candidates.device)
        return none.scatter(1, batch.candidates % (self.classes + 1), True)[:, :-1]

    def as_queries(
        self,
        keys: Int[Tensor, "batch *alternative key"],
        query: Float[Tensor, "batch *other query"] | None,
        candidates: Bool[Tensor, "batch *either class"] | None = None,
    ) -> Queries:
        """Queries in the hands of attention and head; random attention asks for the instances' keys."""
        seen = query if self.architecture.pairs else None
        return Queries(keys if self.attention.asks_the_instance else query, seen, candidates)

    def _second_states_of(self, batch: Batch, embeddings: Tensor | None, second_embeddings: Tensor | None) -> Tensor:
        if batch.second is None:
            raise InputError("This model reads pairs of texts, and there is no second text: name it (--second-column).")
        if self.architecture.query == ASPECT:
            return self._aspect(batch.second, second_embeddings)
        if self.architecture.query == "conditional" or second_embeddings is not None or torch.is_grad_enabled():
            first = self.embed(batch) if embeddings is None else embeddings
            return self.second_states(batch.second, batch, first, second_embeddings)
        # Erased copies of a text have the same second text: it is encoded once.
        tokens, inverse = batch.second.tokens.unique(dim=0, return_inverse=True)
        first_row = torch.full((len(tokens),), len(inverse), dtype=torch.long, device=inverse.device)
        rows = torch.arange(len(inverse), device=inverse.device)
        first_row = first_row.scatter_reduce(0, inverse, rows, "amin")
        return self.second_states(batch.second[first_row], batch, None)[inverse]

    def _aspect(self, second: Sequences, second_embeddings: Tensor | None) -> Float[Tensor, "batch embedding"]:
        """The mean of the words' embeddings; zeros where there is no word."""
        words = self.second_embeddings(second.tokens) if second_embeddings is None else second_embeddings
        total = (words * second.mask[..., None]).sum(1)
        return total / second.mask.sum(-1, keepdim=True).clamp(min=1)

    def second_states(
        self,
        second: Sequences,
        batch: Batch,
        embeddings: Float[Tensor, "batch position embedding"] | None,
        second_embeddings: Float[Tensor, "row other embedding"] | None = None,
    ) -> Float[Tensor, "row query"]:
        """The states of second texts that serve as queries; conditional ones go on from the first text's encoding."""
        embedded = self.second_embeddings(second.tokens) if second_embeddings is None else second_embeddings
        encoder = self._modules.get("second_encoder", self.encoder)
        assert isinstance(encoder, EncoderNetwork)
        if self.architecture.query == "conditional":
            assert isinstance(encoder, BidirectionalNetwork)
            assert isinstance(self.encoder, BidirectionalNetwork)
            assert embeddings is not None
            start = self.encoder.ended(embeddings, batch.text.lengths)
            states = encoder(embedded, second.lengths, start)
        else:
            states = encoder(embedded, second.lengths)
        return encoder.summary(states, second.lengths, second.mask)

    def replay(self, batch: Batch, embeddings: AnySignal) -> AnySignal:
        """Encoder, attention, context and head, in double precision: the products are of large and small numbers.

        The query is held at its value. A conditional one, and a text's own summary, depend on this text too, so that
        deep_lift misses the way through it, and its certificate says how much that is.
        """
        read = embeddings.value
        with torch.set_grad_enabled(read.requires_grad):
            queries = self.queries_of(batch, read.to(next(self.parameters()).dtype))
        asked = queries.attention
        wanted = asked if asked is None or self.attention.asks_the_instance else asked.double()
        states = (
            copy.deepcopy(self.encoder).double().replay(self._replayed_inputs(queries, embeddings), batch.text.lengths)
        )
        weights = copy.deepcopy(self.attention).double().replay(states, batch.mask, wanted)
        context = states.gated(weights, lambda a, h: (a[:, None] @ h)[:, 0]).settled()
        return queries.replayed(copy.deepcopy(self.head).double(), context)

    def _replayed_inputs(self, queries: Queries, embeddings: AnySignal) -> AnySignal:
        """The aspect beside every word is to lrp and deep_lift what a bias is."""
        if self.architecture.query != ASPECT:
            return embeddings
        aspect = queries.head
        assert aspect is not None
        beside = embeddings.map(lambda x: 0 * x).settled(aspect.double()[:, None])
        return embeddings.joined([beside], lambda both: torch.cat(both, dim=-1))

    @property
    def parts(self) -> tuple[str, ...]:
        """Head, attention unless it learns nothing, encoders unless there is none, embeddings."""
        learnt = ("attention",) if any(p.requires_grad for p in self.attention.parameters()) else ()
        encoders = [name for name in ("encoder", "second_encoder") if name in self._modules]
        encodes = [name for name in encoders if any(True for _ in self._modules[name].parameters())]  # type: ignore[union-attr]
        second = ("second_embedding",) if "second_embedding" in self._modules else ()
        return ("head", *learnt, *encodes, "embedding", *second)

    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Logits without each token, the encoder sharing what deletion leaves unchanged."""
        if self.architecture.query_sees_text:
            return encoded_without_each(self, batch)
        lengths, queries = batch.text.lengths, self.queries_of(batch)
        inputs = self.inputs(batch, self.embed(batch))
        return decoded_without_each(self.encoder, self.attention, self.head, inputs, lengths, batch.mask, queries)

    def second_text(self) -> Subject | None:
        """The same model, its second text in the place of the first: for gradients and deletion of the query."""
        # Here, because the view reads this network.
        from attentest.models.wrappers.second_text import SecondText

        return SecondText(self) if self.architecture.pairs else None


def is_shareable(subject: Subject) -> TypeGuard[Classifier]:
    """Whether a subject is a classifier as it stands here, that reads words alone with a query that stays as it is."""
    return (
        isinstance(subject, Classifier)
        and type(subject).read is Classifier.read
        and not subject.architecture.query_sees_text
        and subject.architecture.query != ASPECT
    )

"""The hierarchical attention network (Yang et al. 2016): words make sentences, sentences make the text.

    embedding → word encoder → word attention → sentence vectors → encoder → attention → head
Its last attention weighs sentences, and there everything that is exact for a flat classifier is exact too. The
attention over words is a second site: ``models/networks/word_site.py``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.data.sentence_rows import SentenceRows
from attentest.errors import InputError
from attentest.measures.chance import branched
from attentest.models.capabilities import Attends, Replayable
from attentest.models.networks.embedded import EmbeddedNetwork
from attentest.models.networks.signals import AnySignal
from attentest.models.parts.attention import AttentionNetwork, Random, Uniform
from attentest.models.parts.encoder import EncoderNetwork
from attentest.models.parts.heads import HeadNetwork
from attentest.models.queries import Queries
from attentest.models.shared_work.deletion import decoded_without_each
from attentest.models.subject import AffineReading, DecodedReading, Reading, Subject

__all__ = ["Hierarchical", "sentence_rows"]


class Hierarchical(EmbeddedNetwork, Attends, Replayable):
    """A classifier with two attentions, one over the words of each sentence and one over the sentences."""

    word_encoder: EncoderNetwork
    word_attention: AttentionNetwork
    encoder: EncoderNetwork
    attention: AttentionNetwork
    head: HeadNetwork

    @property
    def order(self) -> tuple[str, ...]:
        """Words, then sentences."""
        return ("embedding", "word_encoder", "word_attention", "encoder", "attention", "head")

    def _new_above(self, part: str) -> nn.Module:
        made = self.architecture
        if part == "word_encoder":
            return made.encoder.build(made.embedding)
        if part == "word_attention":
            return made.attention.build(self.word_encoder.size)
        if part == "encoder":
            return made.encoder.build(self.word_encoder.size)
        if part == "attention":
            return made.attention.build(self.encoder.size)
        return self._new_head(self.encoder.size)

    def attention_parameters(self) -> Iterable[nn.Parameter]:
        """Those of both attentions."""
        return (*self.attention.parameters(), *self.word_attention.parameters())

    @property
    def sites(self) -> tuple[str, ...]:
        """Sentences, and below them words."""
        return self.architecture.sites

    def at(self, site: str) -> Subject:
        """This network at its sentences, or at its words."""
        # Here, because the site reads this network.
        from attentest.models.networks.word_site import WordSite

        return WordSite(self) if site == "word" else super().at(site)

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """Encode every sentence, then the text of sentences; attend over sentences, decode."""
        embedded = self.embed(batch) if embeddings is None else embeddings
        rows = sentence_rows(batch)
        vectors = self.vectors(embedded, rows, batch.keys, detach_attention=detach_attention)
        states, weights, mask = self.attended(vectors, rows.counts, batch.keys, detach_attention=detach_attention)
        logits = self.head((weights[..., None, :] @ states)[..., 0, :])
        if self.head.affine:
            each = self.head(states)
            return AffineReading(logits, weights, mask, states, embedded, each, groups=rows.items)
        return DecodedReading(logits, weights, mask, states, embedded, self.head, groups=rows.items)

    def vectors(
        self,
        embeddings: Float[Tensor, "batch position embedding"],
        rows: SentenceRows,
        keys: Int[Tensor, " batch"],
        *,
        detach_attention: bool = False,
    ) -> Float[Tensor, "batch sentence state"]:
        """One vector for every sentence: all sentences of the batch side by side, those of like length together."""
        flat, own_keys = embeddings.flatten(0, 1), self.instance_keys(keys, rows)
        made = [flat.new_zeros(0, self.word_encoder.size)]  # a text may have lost all its words
        for part, width in rows.groups():
            lengths = rows.lengths[part]
            words = flat.index_select(0, rows.places(part, width).flatten()).view(len(lengths), width, -1)
            states = self.word_encoder(words, lengths)
            weights = self.word_attention(states, within(lengths, width), None if own_keys is None else own_keys[part])
            if detach_attention:
                weights = weights.detach()
            made.append((weights[:, None] @ states)[:, 0])
        return placed(torch.cat(made), rows)

    def attended(
        self,
        vectors: Float[Tensor, "batch sentence input"],
        counts: Int[Tensor, " batch"],
        keys: Int[Tensor, " batch"],
        *,
        detach_attention: bool = False,
    ) -> tuple[Float[Tensor, "batch sentence state"], Float[Tensor, "batch sentence"], Bool[Tensor, "batch sentence"]]:
        """States of the sentences, their weights, and which of them are there."""
        mask = within(counts, vectors.shape[1])
        states = self.encoder(vectors, counts)
        weights = self.attention(states, mask, self.instance_keys(keys))
        return states, weights.detach() if detach_attention else weights, mask

    def instance_keys(
        self, keys: Int[Tensor, " batch"], rows: SentenceRows | None = None
    ) -> Int[Tensor, "item 1"] | None:
        """The queries of random attention: the texts' keys, or those of their sentences; nothing for any other."""
        if not self.attention.asks_the_instance:
            return None
        return (keys if rows is None else branched(keys[rows.text], rows.ordinal))[:, None]

    def attend(
        self, batch: Batch, states: Float[Tensor, "batch sentence state"], queries: Batch
    ) -> Float[Tensor, "batch sentence"]:
        """The attention over sentences alone."""
        mask = within(sentence_rows(batch).counts, states.shape[1])
        weights: Tensor = self.attention(states, mask, self.instance_keys(queries.keys))
        return weights

    def delete_each(self, batch: Batch) -> Float[Tensor, "batch sentence class"]:
        """Logits without each sentence: the others' vectors stay, so only the text of sentences is encoded again."""
        rows = sentence_rows(batch)
        vectors = self.vectors(self.embed(batch), rows, batch.keys)
        mask, queries = within(rows.counts, rows.most), Queries(self.instance_keys(batch.keys))
        return decoded_without_each(self.encoder, self.attention, self.head, vectors, rows.counts, mask, queries)

    def replay(self, batch: Batch, embeddings: AnySignal) -> AnySignal:
        """Both levels, in double precision: the products are of large and small numbers."""
        rows, twin = sentence_rows(batch), copy.deepcopy(self).double()
        own_keys = self.instance_keys(batch.keys, rows)
        made: list[AnySignal] = []
        for part, width in rows.groups():
            lengths, places = rows.lengths[part], rows.places(part, width)
            words = embeddings.regrouped(rows.text[part], lambda x, places=places: x.flatten(0, 1)[places])
            mask, keys = within(lengths, width), None if own_keys is None else own_keys[part]
            made.append(_pooled(twin.word_encoder, twin.word_attention, words, lengths, mask, keys))
        # The first of the joined is the embeddings themselves: they lend the batch they belong to, not a value.
        vectors = embeddings.joined(made, lambda all_: placed(torch.cat(all_[1:]), rows))
        mask, keys = within(rows.counts, rows.most), self.instance_keys(batch.keys)
        context = _pooled(twin.encoder, twin.attention, vectors, rows.counts, mask, keys)
        return twin.head.replay(context)

    @property
    def parts(self) -> tuple[str, ...]:
        """From the head down, those that learn anything."""
        weighs = not isinstance(self.architecture.attention, Uniform | Random)
        encodes = any(True for _ in self.encoder.parameters())
        level = (("attention", weighs), ("encoder", encodes))
        named = [(f"{below}{part}", learns) for below in ("", "word_") for part, learns in level]
        return ("head", *(part for part, learns in named if learns), "embedding")


def _pooled(
    encoder: EncoderNetwork,
    attention: AttentionNetwork,
    inputs: AnySignal,
    lengths: Tensor,
    mask: Tensor,
    query: Tensor | None,
) -> AnySignal:
    """Encoder, attention and context of one level, as a signal."""
    states = encoder.replay(inputs, lengths)
    weights = attention.replay(states, mask, query)
    return states.gated(weights, lambda a, h: (a[:, None] @ h)[:, 0]).settled()


def sentence_rows(batch: Batch) -> SentenceRows:
    """The batch's sentences; a batch without any cannot be read sentence by sentence."""
    if batch.text.sentences is None:
        raise InputError(
            "A hierarchical model reads sentences, and these texts are not cut into any: cut them with "
            "attentest.data.sentences.with_sentences(corpus)."
        )
    return batch.text.sentences.rows


def within(lengths: Tensor, width: int) -> Bool[Tensor, "row place"]:
    """Which of ``width`` places lie inside each length."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]


def placed(values: Float[Tensor, " row *rest"], rows: SentenceRows) -> Float[Tensor, "batch sentence *rest"]:
    """Values of all sentences at their places in the texts, zero elsewhere."""
    out = values.new_zeros(len(rows.counts), rows.most, *values.shape[1:])
    return out.index_put((rows.text, rows.ordinal), values)

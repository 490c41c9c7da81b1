"""The word attention of a hierarchical network, as a subject of its own: words are weighed, not sentences.

A word's weight in the text is its sentence's weight times its own within the sentence, so weights sum to one. Other
weights are normalised within each sentence, and everything above the words is computed anew.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.data.sentence_rows import SentenceRows
from attentest.models.capabilities import Attends, Randomisable, Replayable
from attentest.models.networks.hierarchical import Hierarchical, placed, sentence_rows, within
from attentest.models.networks.signals import AnySignal
from attentest.models.shared_work.deletion import pooled_without_each
from attentest.models.subject import Reading, Subject

__all__ = ["WordReading", "WordSite"]

#: Numbers that one pass over alternatives, or over shortened texts, may hold where no gradient is needed.
CELLS = {"cpu": 4_000_000, "cuda": 100_000_000}
#: The least weight a sentence lends its words, so that theirs can be told apart where its own rounds to zero.
LEAST = 1e-20


@dataclass(frozen=True)
class WordReading(Reading):
    """A reading at the words: no map from words' weights to logits is affine, so alternatives are decoded anew."""

    network: Hierarchical
    rows: SentenceRows
    keys: Int[Tensor, " batch"]

    @property
    def token_logits(self) -> None:
        """There are none: the sentence level lies between."""
        return None

    def reread(self, weights: Float[Tensor, "batch alternative token"]) -> Tensor:
        """Sentence vectors from the new weights, then the sentence level anew, some alternatives at a time."""
        size = self.rows.most * len(self.states) * max(self.states.shape[-1], self.network.encoder.size)
        room = CELLS.get(self.states.device.type, CELLS["cpu"])
        parts = weights.split(max(1, room // max(1, size)), dim=1)
        return torch.cat([self._reread(part) for part in parts], dim=1)

    def _reread(self, weights: Float[Tensor, "batch alternative token"]) -> Tensor:
        rows, (count, alternatives) = self.rows, weights.shape[:2]
        flat, states = weights.transpose(1, 2).flatten(0, 1), self.states.flatten(0, 1)
        made = [states.new_zeros(0, alternatives, states.shape[-1])]
        for part, width in rows.groups():
            places = rows.places(part, width)
            given = torch.where(within(rows.lengths[part], width)[..., None], flat[places], 0.0)
            given = given / given.sum(1, keepdim=True).clamp(min=torch.finfo(given.dtype).tiny)
            made.append(given.to(states.dtype).transpose(1, 2) @ states[places])
        vectors = placed(torch.cat(made), rows).transpose(1, 2).flatten(0, 1)
        counts, keys = (values.repeat_interleave(alternatives) for values in (rows.counts, self.keys))
        logits = _decoded(self.network, vectors, counts, keys)
        return logits.view(count, alternatives, -1)


class WordSite(Subject, Attends, Replayable, Randomisable):
    """A hierarchical network read, and its attention replaced, at the words."""

    def __init__(self, network: Hierarchical) -> None:
        self.network = network
        self.classes = network.classes

    @property
    def device(self) -> torch.device:
        """Where the network computes."""
        return self.network.device

    def embed(self, batch: Batch) -> Float[Tensor, "batch position embedding"]:
        """The network's embeddings."""
        return self.network.embed(batch)

    def baseline(self, kind: str) -> Float[Tensor, " embedding"]:
        """The network's."""
        return self.network.baseline(kind)

    def read(
        self,
        batch: Batch,
        *,
        embeddings: Float[Tensor, "batch position embedding"] | None = None,
        detach_attention: bool = False,
    ) -> Reading:
        """The same output; states and weights are those of the words."""
        network, rows = self.network, sentence_rows(batch)
        embedded = network.embed(batch) if embeddings is None else embeddings
        states = self._states(embedded, rows)
        weights, context = self._weighed(states, rows, batch.keys, detach_attention=detach_attention)
        return WordReading(network.head(context), weights, batch.mask, states, embedded, network, rows, batch.keys)

    def attend(
        self, batch: Batch, states: Float[Tensor, "batch token state"], queries: Batch
    ) -> Float[Tensor, "batch token"]:
        """Words within sentences, and the sentences that these words make."""
        return self._weighed(states, sentence_rows(batch), queries.keys)[0]

    def _weighed(
        self, states: Tensor, rows: SentenceRows, keys: Tensor, *, detach_attention: bool = False
    ) -> tuple[Float[Tensor, "batch token"], Float[Tensor, "batch state"]]:
        """The words' weights in the text, and its context."""
        network = self.network
        flat, own_keys = states.flatten(0, 1), network.instance_keys(keys, rows)
        vectors, within_sentence, places = [flat[:0]], [flat[:0, 0]], [rows.first[:0]]
        for part, width in rows.groups():
            place, mask = rows.places(part, width), within(rows.lengths[part], width)
            weights = network.word_attention(flat[place], mask, None if own_keys is None else own_keys[part])
            if detach_attention:
                weights = weights.detach()
            vectors.append((weights[:, None] @ flat[place])[:, 0])
            within_sentence.append(weights[mask])
            places.append(place[mask])
        sentences, shares, mask = network.attended(
            placed(torch.cat(vectors), rows), rows.counts, keys, detach_attention=detach_attention
        )
        lent = torch.where(mask, shares.clamp(min=LEAST), 0.0).gather(1, rows.items.clamp(min=0))
        own = flat.new_zeros(len(flat)).index_put((torch.cat(places),), torch.cat(within_sentence))
        return lent * own.view_as(lent), (shares[:, None] @ sentences)[:, 0]

    def _states(self, embeddings: Tensor, rows: SentenceRows) -> Float[Tensor, "batch position state"]:
        """The words' states at their positions; start, end and padding have none, and zeros in their place."""
        flat, places = embeddings.flatten(0, 1), [rows.first[:0]]
        made = [flat.new_zeros(0, self.network.word_encoder.size)]  # a text may have lost all its words
        for part, width in rows.groups():
            place, lengths = rows.places(part, width), rows.lengths[part]
            mask = within(lengths, width)
            made.append(self.network.word_encoder(flat[place], lengths)[mask])
            places.append(place[mask])
        out = flat.new_zeros(len(flat), self.network.word_encoder.size)
        return out.index_put((torch.cat(places),), torch.cat(made)).view(*embeddings.shape[:2], -1)

    @torch.no_grad()
    def delete_each(self, batch: Batch) -> Float[Tensor, "batch token class"]:
        """Logits without each word: its sentence is encoded again without it, and the text of sentences with that one.

        A sentence whose only word goes is gone.
        """
        network, rows = self.network, sentence_rows(batch)
        vectors, changed = self._without_each(network.embed(batch), rows, batch.keys)
        row, place = batch.mask.nonzero(as_tuple=True)
        ordinal = rows.items[row, place]
        alone = (
            torch.zeros_like(rows.items).index_put((rows.text, rows.first), (rows.lengths == 1).long())[row, place] > 0
        )
        out = vectors.new_zeros(*batch.mask.shape, self.classes)
        room = CELLS.get(self.device.type, CELLS["cpu"]) // max(1, rows.most * network.encoder.size)
        step = torch.arange(rows.most, device=row.device)
        for some in torch.arange(len(row), device=row.device).split(max(1, room)):
            texts = vectors[row[some]]
            texts[torch.arange(len(some), device=row.device), ordinal[some]] = changed[row[some], place[some]]
            gone = alone[some, None]
            source = (step + (gone & (step >= ordinal[some, None]))).clamp(max=rows.most - 1)
            texts = texts.gather(1, source[..., None].expand_as(texts))
            counts = rows.counts[row[some]] - gone[:, 0].long()
            out[row[some], place[some]] = _decoded(network, texts, counts, batch.keys[row[some]])
        return out

    def _without_each(
        self, embeddings: Tensor, rows: SentenceRows, keys: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch sentence state"], Float[Tensor, "batch position state"]]:
        """The sentences' vectors, and for every word the vector of its sentence without it."""
        network, flat = self.network, embeddings.flatten(0, 1)
        own_keys = network.instance_keys(keys, rows)
        size = network.word_encoder.size
        identity, changed = torch.eye(size).to(flat), flat.new_zeros(len(flat), size)
        for part, width in rows.groups(CELLS.get(self.device.type, CELLS["cpu"]) // size, power=2):
            place, lengths = rows.places(part, width), rows.lengths[part]
            mask = within(lengths, width)
            pooled = pooled_without_each(
                network.word_encoder,
                network.word_attention,
                identity,
                flat[place],
                lengths,
                mask,
                None if own_keys is None else own_keys[part],
            )
            changed[place[mask]] = pooled[mask]
        return network.vectors(embeddings, rows, keys), changed.view(*embeddings.shape[:2], -1)

    def replay(self, batch: Batch, embeddings: AnySignal) -> AnySignal:
        """The network's."""
        return self.network.replay(batch, embeddings)

    @property
    def parts(self) -> tuple[str, ...]:
        """The network's."""
        return self.network.parts

    def randomised(self, parts: tuple[str, ...], seed: int) -> WordSite:
        """The words of the network with these parts drawn anew."""
        return WordSite(self.network.randomised(parts, seed))


def _decoded(
    network: Hierarchical, vectors: Float[Tensor, "row sentence state"], counts: Tensor, keys: Int[Tensor, " row"]
) -> Float[Tensor, "row class"]:
    """The logits of texts given as their sentences' vectors."""
    states, weights, _ = network.attended(vectors, counts, keys)
    logits: Tensor = network.head((weights[:, None] @ states)[:, 0])
    return logits

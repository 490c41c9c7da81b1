"""Many texts made of few words: what depends on a word alone is computed once for all of them.

Erasing tokens of one text in a thousand ways makes a thousand texts of the same words. Most of a recurrent encoder's
work is the projection of its inputs, and the average encoder has no other, so that is done for every word once; and a
recurrence passes what texts begin and end with once for all that do. A subject that is not known is read text by text.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.models.capabilities import ReadsMany
from attentest.models.networks.classifier import Classifier, is_shareable
from attentest.models.parts.bidirectional import reversal
from attentest.models.parts.encoder import EncoderNetwork
from attentest.models.parts.encoders import AverageNetwork
from attentest.models.parts.lstm import BiLSTMNetwork, Cell
from attentest.models.products import linear
from attentest.models.shared_work.beginnings import Beginnings
from attentest.models.shared_work.deletion import HeadSight, Seen
from attentest.models.subject import Subject

__all__ = ["Reader", "distinct_words", "reader_of", "texts_at_once"]

#: Texts given as indices into the words, one for each position of the batch, to logits.
Reader = Callable[[Batch, Int[Tensor, "batch position"]], Float[Tensor, "batch class"]]
States = Callable[[Tensor, Tensor], Tensor]

#: A step through the words of many texts is worth its call from about so many texts on; of long ones fewer go together,
#: whose words are so many in all.
STEP, LONG = 256, 98_304
#: Numbers that attention and head see at once: so few stay in a core's cache, and need no memory that is cleared anew.
SEEN = 1 << 18


def distinct_words(
    subject: Subject, batch: Batch
) -> tuple[Float[Tensor, "word embedding"], Int[Tensor, "batch position"]]:
    """The different embeddings of a batch, and which of them stands at each position."""
    if is_shareable(subject):
        tokens, index = batch.text.tokens.unique(return_inverse=True)
        return subject.embedding.weight.detach()[tokens], index
    embeddings = subject.embed(batch).detach()
    index = torch.arange(batch.text.tokens.numel(), device=embeddings.device).view(batch.text.tokens.shape)
    return embeddings.flatten(0, 1), index


def reader_of(subject: Subject, words: Float[Tensor, "word embedding"]) -> Reader:
    """How to read any texts made of these words, without gradients."""
    if is_shareable(subject):
        return _shared(subject, words)
    if isinstance(subject, ReadsMany):
        return lambda batch, index: subject.logits_of_many(batch, words, index)
    return lambda batch, index: subject.read(batch, embeddings=words[index]).logits


def texts_at_once(subject: Subject, width: int, most: int) -> int:
    """How many texts of so many words are best read at once, where a pass usually holds so many words at the most."""
    if is_shareable(subject) and _by_beginnings(subject):
        most = max(most, min(STEP * width, LONG))
    return max(1, most // width)


def _by_beginnings(subject: Classifier) -> bool:
    # On a GPU the library's own recurrence is faster than any loop over positions.
    return isinstance(subject.encoder, BiLSTMNetwork) and subject.device.type != "cuda"


def _shared(subject: Classifier, words: Tensor) -> Reader:
    if isinstance(subject.encoder, BiLSTMNetwork) and _by_beginnings(subject):
        return _bilstm(subject, subject.encoder, words)
    states_of = _states(subject.encoder, words)

    def read(batch: Batch, index: Tensor) -> Tensor:
        states = states_of(index, batch.text.lengths)
        queries = subject.queries_of(batch)
        weights = subject.attention(states, batch.mask, queries.attention)
        return queries.decoded(subject.head, (weights[..., None, :] @ states)[..., 0, :])

    return read


def _states(encoder: EncoderNetwork, words: Tensor) -> States:
    if isinstance(encoder, AverageNetwork):
        states = encoder(words[None], words.new_tensor([len(words)]))[0]
        return lambda index, lengths: states[index]
    return lambda index, lengths: encoder(words[index], lengths)


def _bilstm(subject: Classifier, encoder: BiLSTMNetwork, words: Tensor) -> Reader:
    """Every distinct beginning and end of texts is encoded once, and what attention and head see of it as well."""
    cells = [Cell(lstm) for lstm in (encoder.rightward, encoder.leftward)]
    sides = [(cell.project(words), cell.recurrent) for cell in cells]
    sight = HeadSight.of(subject.head, encoder.size, words)
    seen = Seen.of(subject.attention, sight.values)
    onto = seen.onto.chunk(2)

    def read(batch: Batch, index: Tensor) -> Tensor:
        flip = reversal(batch.text.lengths, index.shape[1])
        right, left = (Beginnings.of(x, batch.text.lengths) for x in (index, index.gather(1, flip)))
        tables = [
            linear(of.lstm(*side), part.T, plus)
            for of, side, part, plus in zip((right, left), sides, onto, (seen.plus, None), strict=True)
        ]
        places, queries = (right.place, left.place.gather(1, flip)), subject.queries_of(batch)
        sights = [*zip(places, tables, strict=True)]

        def pooled(rows: slice) -> Tensor:
            before, after = (nn.functional.embedding(place[rows], table) for place, table in sights)
            query = None if queries.attention is None else queries.attention[rows]
            return seen.pooled(before.add_(after), batch.mask[rows], query)

        some = max(1, SEEN // max(1, index.shape[1] * tables[0].shape[1]))
        parts = [pooled(slice(first, first + some)) for first in range(0, len(batch), some)]
        return sight.decoded(torch.cat(parts), queries)

    return read

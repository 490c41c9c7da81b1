"""Many texts made of few words: what depends on a word alone is computed once for all of them.

Erasing tokens of one text in a thousand ways makes a thousand texts of the same words. Most of a recurrent encoder's
work is the projection of its inputs, and the average encoder has no other, so that is done for every word once. A
subject that is not known is read text by text.
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
from attentest.models.products import linear_added, whole_rows
from attentest.models.subject import Subject

__all__ = ["Reader", "distinct_words", "reader_of"]

#: Texts given as indices into the words, one for each position of the batch, to logits.
Reader = Callable[[Batch, Int[Tensor, "batch position"]], Float[Tensor, "batch class"]]
States = Callable[[Tensor, Tensor], Tensor]


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


def _shared(subject: Classifier, words: Tensor) -> Reader:
    states_of = _states(subject.encoder, words)

    def read(batch: Batch, index: Tensor) -> Tensor:
        states = states_of(index, batch.text.lengths)
        queries = subject.queries_of(batch)
        weights = subject.attention(states, batch.mask, queries.attention)
        return queries.decoded(subject.head, (weights[..., None, :] @ states)[..., 0, :])

    return read


def _states(encoder: EncoderNetwork, words: Tensor) -> States:
    # On a GPU the library's own recurrence is faster than any loop over positions.
    if isinstance(encoder, BiLSTMNetwork) and not words.is_cuda:
        return _bilstm(encoder, words)
    if isinstance(encoder, AverageNetwork):
        states = encoder(words[None], words.new_tensor([len(words)]))[0]
        return lambda index, lengths: states[index]
    return lambda index, lengths: encoder(words[index], lengths)


def _bilstm(encoder: BiLSTMNetwork, words: Tensor) -> States:
    cells = [Cell(lstm) for lstm in (encoder.rightward, encoder.leftward)]
    sides = [(cell.project(words), cell.recurrent) for cell in cells]

    def states(index: Tensor, lengths: Tensor) -> Tensor:
        flip = reversal(lengths, index.shape[1])
        before, after = (
            _run(*side, places) for side, places in zip(sides, (index, index.gather(1, flip)), strict=True)
        )
        return torch.cat([before, after.gather(1, flip[..., None].expand_as(after))], dim=-1)

    return states


def _run(
    projected: Float[Tensor, "word gate"], recurrent: Float[Tensor, "hidden gate"], index: Int[Tensor, "batch position"]
) -> Float[Tensor, "batch position hidden"]:
    """A one-directional LSTM over texts of projected words, in place; gates are in the order that Cell puts them."""
    texts, width = index.shape
    count = whole_rows(texts)
    index = nn.functional.pad(index, (0, 0, 0, count - texts))
    states = projected.new_empty(width, count, recurrent.shape[0])
    c = torch.zeros_like(states[0])
    for t, places in enumerate(index.T.contiguous()):
        gates = projected[places]
        if t:
            gates = linear_added(gates, states[t - 1], recurrent.T)
        into, forget, out, new = gates.sigmoid_().chunk(4, dim=-1)
        c.mul_(forget).addcmul_(into, new, value=2.0).sub_(into)
        torch.mul(c, 2.0, out=states[t]).sigmoid_().mul_(2.0).sub_(1.0).mul_(out)
    return states[:, :texts].transpose(0, 1)

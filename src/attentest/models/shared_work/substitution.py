"""Each token of a text replaced in turn by the same embedding, sharing what the replacement leaves unchanged."""

from __future__ import annotations

from typing import TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.models.networks.classifier import Classifier, is_shareable
from attentest.models.parts.attention import EnergyNetwork
from attentest.models.parts.bidirectional import Passage, reversal
from attentest.models.parts.encoder import EncoderNetwork
from attentest.models.parts.encoders import AverageNetwork, ConvolutionNetwork
from attentest.models.parts.lstm import BiLSTMNetwork, Cell, passage
from attentest.models.products import linear
from attentest.models.queries import NO_QUERIES
from attentest.models.shared_work.deletion import HeadSight, Seen, weighs_by_energy
from attentest.models.subject import Subject

__all__ = ["replace_each", "replaceable"]

#: The start symbol, and read from the other end the end symbol, are never replaced.
EDGE = 1


def replaceable(subject: Subject) -> TypeGuard[Classifier]:
    """Whether ``replace_each`` knows this subject."""
    return (
        is_shareable(subject)
        and not subject.architecture.query
        and type(subject.encoder) in (BiLSTMNetwork, ConvolutionNetwork, AverageNetwork)
        and weighs_by_energy(subject.attention)
    )


@torch.no_grad()
def replace_each(
    subject: Classifier, batch: Batch, instead: Float[Tensor, " embedding"]
) -> Float[Tensor, "batch token class"]:
    """The logits with each token's embedding replaced (start, end and padding: undefined)."""
    attention = subject.attention
    assert isinstance(attention, EnergyNetwork)
    sight = HeadSight.of(subject.head, subject.encoder.size, instead)
    seen = Seen.of(attention, sight.values)
    out = _with_each(subject.encoder, subject.embed(batch), batch.text.lengths, instead, seen)
    weights = attention.normalise(out[..., 0], batch.mask[:, None])
    pooled = (weights[..., None, :] @ out[..., 1:])[..., 0, :]
    return sight.decoded(pooled, NO_QUERIES)


def _with_each(
    network: EncoderNetwork, embeddings: Tensor, lengths: Tensor, instead: Tensor, seen: Seen
) -> Float[Tensor, "batch replaced token seen"]:
    """What is seen of the sequence with ``instead`` at position d, for every d."""
    if isinstance(network, BiLSTMNetwork):
        return _bilstm(network, embeddings, lengths, instead, seen)
    if isinstance(network, ConvolutionNetwork):
        return _convolution(network, embeddings, lengths, instead, seen)
    out = seen(network(embeddings, lengths) @ seen.onto + seen.plus)[:, None].repeat(1, embeddings.shape[1], 1, 1)
    alone = seen(network(instead[None, None], lengths[:1])[0, 0] @ seen.onto + seen.plus)
    out.diagonal(dim1=1, dim2=2)[:] = alone[:, None]
    return out


def _bilstm(network: BiLSTMNetwork, embeddings: Tensor, lengths: Tensor, instead: Tensor, seen: Seen) -> Tensor:
    """Replacing d changes rightward states from d on and leftward states up to d, and only those."""
    width, hidden = embeddings.shape[1], network.size // 2
    plus, rightward, leftward = seen.plus, seen.onto[:hidden].T, seen.onto[hidden:].T
    flip = reversal(lengths, width)
    reversed_ = embeddings.gather(1, flip[..., None].expand_as(embeddings))
    to_right, before = _replaced(network.rightward, embeddings, instead)
    to_left, after = _replaced(network.leftward, reversed_, instead)
    right = linear(to_right.states, rightward, plus).transpose(0, 1)
    left = _turned(linear(to_left.states, leftward).transpose(0, 1), flip)
    out = seen(right + left).repeat(width, 1, 1, 1)
    # At d itself both directions change.
    itself = linear(before[0], rightward, plus).transpose(0, 1)
    itself = itself + _turned(linear(after[0], leftward).transpose(0, 1), flip)
    out.diagonal(dim1=0, dim2=2).copy_(seen(itself).transpose(1, 2))
    for s, first, changed in to_right.joined_by(before, EDGE):
        out[first:s, :, s] = seen(linear(changed, rightward, plus).add_(left[:, s]))
    rows = torch.arange(len(lengths), device=lengths.device)
    for s, first, changed in to_left.joined_by(after, EDGE):
        place = flip[:, s]
        out[flip.T[first:s], rows, place] = seen(linear(changed, leftward).add_(right[rows, place]))
    return out.transpose(0, 1)


def _turned(values: Float[Tensor, "batch token out"], flip: Tensor) -> Float[Tensor, "batch token out"]:
    return values.gather(1, flip[..., None].expand_as(values))


def _replaced(
    lstm: nn.LSTM, embeddings: Tensor, instead: Tensor
) -> tuple[Passage, list[Float[Tensor, "token batch hidden"]]]:
    """A direction's way through the texts, and its states and cells right after a replaced position."""
    through = passage(lstm, embeddings)
    after = [part[:-1].clone() for part in through.before]
    through.step(Cell(lstm).project(instead), *after)
    return through, after


def _convolution(
    network: ConvolutionNetwork, embeddings: Tensor, lengths: Tensor, instead: Tensor, seen: Seen
) -> Tensor:
    """Before its ReLU a convolution is affine: a replacement adds its kernel's share to the positions in reach."""
    width, reach, onto, plus = embeddings.shape[1], network.reach, seen.onto, seen.plus
    inside = torch.arange(width, device=lengths.device)[None, :] < lengths[:, None]
    inputs = (embeddings * inside[..., None]).transpose(1, 2)
    before = torch.cat([layer(inputs) for layer in network.layers], dim=1).transpose(1, 2)
    # The kernel that position d has for position d + offset: its taps in reverse, zero beyond its own width.
    kernels = [layer.weight.flip(2) for layer in network.layers if isinstance(layer, nn.Conv1d)]
    taps = torch.cat([nn.functional.pad(kernel, 2 * [reach - kernel.shape[2] // 2]) for kernel in kernels])
    shares = torch.einsum("bde,feo->bdof", instead - embeddings, taps)
    here, offsets = torch.arange(width, device=inside.device), torch.arange(-reach, reach + 1, device=inside.device)
    place = here[:, None] + offsets
    gap, slot = ((place >= 0) & (place < width)).nonzero(as_tuple=True)
    to = place[gap, slot]
    out = seen(before.relu() @ onto + plus)[:, None].repeat(1, width, 1, 1)
    out[:, gap, to] = seen((before[:, to] + shares[:, gap, slot]).relu() @ onto + plus)
    return out

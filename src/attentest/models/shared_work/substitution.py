"""Each token of a text replaced in turn by the same embedding, sharing what the replacement leaves unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.models.networks.classifier import Classifier, is_shareable
from attentest.models.parts.attention import EnergyNetwork
from attentest.models.parts.bidirectional import LOOK, converged, reversal
from attentest.models.parts.encoder import EncoderNetwork
from attentest.models.parts.encoders import AverageNetwork, ConvolutionNetwork
from attentest.models.parts.lstm import BiLSTMNetwork, Cell
from attentest.models.products import linear
from attentest.models.shared_work.deletion import Seen, weighs_by_energy
from attentest.models.subject import Subject

__all__ = ["replace_each", "replaceable"]


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
    keys, identity = attention.keys, torch.eye(subject.encoder.size).to(instead)
    nothing = subject.head(torch.zeros_like(identity[0]))
    values = subject.head(identity) - nothing if subject.head.affine else identity
    onto = torch.cat([keys.weight.T, values], dim=1)
    plus = onto.new_zeros(onto.shape[1])
    plus[: keys.out_features] = 0.0 if keys.bias is None else keys.bias
    seen = Seen(onto, plus, attention)
    out = _with_each(subject.encoder, subject.embed(batch), batch.text.lengths, instead, seen)
    weights = attention.normalise(out[..., 0], batch.mask[:, None])
    pooled = (weights[..., None, :] @ out[..., 1:])[..., 0, :]
    logits: Tensor = pooled + nothing if subject.head.affine else subject.head(pooled)
    return logits


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
    states: Tensor = network(embeddings, lengths)
    right = linear(states[..., :hidden], rightward, plus)
    left = linear(states[..., hidden:], leftward)
    out = seen(right + left).repeat(width, 1, 1, 1)
    # At d itself both directions change: what the rightward one gives there is kept for the leftward one.
    itself = torch.empty_like(right)
    for s, first, changed in _suffixes(network.rightward, embeddings, instead):
        projected = linear(changed, rightward, plus)
        itself[:, s] = projected[-1]
        out[first : s + 1, :, s] = seen(projected.add_(left[:, s]))
    rows = torch.arange(len(lengths), device=lengths.device)
    for s, first, changed in _suffixes(network.leftward, reversed_, instead):
        place, projected = flip[:, s], linear(changed, leftward)
        projected[:-1] += right[rows, place]
        projected[-1] += itself[rows, place]
        out[flip.T[first : s + 1], rows, place] = seen(projected)
    return out.transpose(0, 1)


def _suffixes(
    lstm: nn.LSTM, embeddings: Tensor, instead: Tensor
) -> Iterator[tuple[int, int, Float[Tensor, "replaced batch hidden"]]]:
    """A one-directional LSTM's states at position s with ``instead`` at d, for first ≤ d ≤ s.

    All replacements advance together with the undisturbed sequence, and the input is projected once for all; a
    replacement leaves when its state has converged to the undisturbed one.
    """
    batch, width, _ = embeddings.shape
    cell = Cell(lstm)
    inputs, replacement = cell.project(embeddings.transpose(0, 1)), cell.project(instead)
    # Row d is the sequence with position d replaced; the row after the last of them is the undisturbed one.
    h = embeddings.new_zeros(width + 1, batch, lstm.hidden_size)
    c = torch.zeros_like(h)
    given = inputs.new_empty(width + 1, batch, inputs.shape[-1])
    first = 0
    for s in range(width):
        h[s + 1], c[s + 1] = h[s], c[s]
        given[first : s + 2] = inputs[s]
        given[s] = replacement
        cell.step(given[first : s + 2], h[first : s + 2], c[first : s + 2])
        yield s, first, h[first : s + 1]
        if s % LOOK == 0:
            first += converged(h[first : s + 2], c[first : s + 2])


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

"""Straight lines of embeddings: an affine first layer makes a line of a line.

Integrated gradients read one text at many points start + a·direction. Every encoder here begins with an affine layer,
so that layer is computed once for start and once for direction, never for the points, and gradients are summed over
the points before they go back through it. A subject that is not known is read point by point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor, nn

from attentest.data.batches import Batch
from attentest.models.capabilities import HoldsAttention
from attentest.models.copies import copies
from attentest.models.networks.classifier import Classifier, is_shareable
from attentest.models.parts.encoders import AverageNetwork, ConvolutionNetwork
from attentest.models.parts.lstm import BiLSTMNetwork, Cell
from attentest.models.shared_work.recurrence import recurrence
from attentest.models.subject import Subject

__all__ = ["Line", "line_through"]


class Line(ABC):
    """The points start + a·direction of every text of a batch; attention may be held at given weights."""

    def __init__(self, subject: Subject, batch: Batch, held: Float[Tensor, "batch token"] | None) -> None:
        self.subject, self.batch, self.held = subject, batch, held
        #: What the first layer makes of start and direction, one per text, positions in place.
        self.base: Tensor
        self.slope: Tensor

    @torch.no_grad()
    def logits(self, rows: Int[Tensor, " row"], at: Float[Tensor, "row point"]) -> Float[Tensor, "row point class"]:
        """The logits of these texts at these points."""
        return self._read(self.base[rows], rows, at)

    def scores(
        self,
        rows: Int[Tensor, " row"],
        at: Float[Tensor, "row point"],
        weight: Float[Tensor, "row point"],
        outputs: Callable[[Tensor], Tensor],
    ) -> tuple[Float[Tensor, "row token"], Float[Tensor, "row point"]]:
        """direction · Σ weight · ∂outputs/∂point at every token, and the outputs, which are made of the logits."""
        base = self.base[rows].requires_grad_()
        found = outputs(self._read(base, rows, at))
        (gradient,) = torch.autograd.grad((found * weight).sum(), base)
        return self._tokens(gradient, rows), found.detach()

    @abstractmethod
    def _read(self, base: Tensor, rows: Tensor, at: Tensor) -> Tensor:
        """The logits at base + at·slope, in the graph of ``base``."""

    @abstractmethod
    def _tokens(self, gradient: Tensor, rows: Tensor) -> Tensor:
        """A gradient with respect to ``base`` as one number per token: its product with the direction."""


def line_through(
    subject: Subject,
    batch: Batch,
    start: Float[Tensor, "batch position embedding"],
    direction: Float[Tensor, "batch position embedding"],
    held: Float[Tensor, "batch token"] | None = None,
) -> Line:
    """The line of a batch, with as much shared as the subject allows."""
    if is_shareable(subject):
        if isinstance(subject.encoder, BiLSTMNetwork):
            return _BiLSTMLine(subject, batch, start, direction, held)
        if isinstance(subject.encoder, AverageNetwork):
            return _AverageLine(subject, batch, start, direction, held)
        if isinstance(subject.encoder, ConvolutionNetwork):
            return _ConvolutionLine(subject, batch, start, direction, held)
    return _ReadLine(subject, batch, start, direction, held)


class _ReadLine(Line):
    """Nothing shared: every point is read."""

    def __init__(self, subject: Subject, batch: Batch, start: Tensor, direction: Tensor, held: Tensor | None) -> None:
        super().__init__(subject, batch, held)
        self.base, self.slope = start, direction

    def _read(self, base: Tensor, rows: Tensor, at: Tensor) -> Tensor:
        repeated = rows.repeat_interleave(at.shape[1])
        batch = copies(self.batch, repeated)
        width = batch.text.tokens.shape[1]
        points = base[:, None, :width] + at[..., None, None] * self.slope[rows, None, :width]
        if self.held is not None and isinstance(self.subject, HoldsAttention):
            return self.subject.under_own_attention(self.batch, repeated, points.flatten(0, 1)).view(*at.shape, -1)
        reading = self.subject.read(batch, embeddings=points.flatten(0, 1))
        items = reading.mask.shape[-1]
        logits = reading.logits if self.held is None else reading.reread(self.held[repeated, None, :items])[:, 0]
        return logits.view(*at.shape, -1)

    def _tokens(self, gradient: Tensor, rows: Tensor) -> Tensor:
        return (gradient * self.slope[rows]).sum(-1)


class _ClassifierLine(Line):
    """A classifier whose encoder knows how to go on from its first layer."""

    subject: Classifier

    def __init__(self, subject: Classifier, batch: Batch, held: Tensor | None) -> None:
        super().__init__(subject, batch, held)
        with torch.no_grad():
            self.queries = subject.queries_of(batch)

    def _read(self, base: Tensor, rows: Tensor, at: Tensor) -> Tensor:
        lengths = self.batch.text.lengths[rows]
        width = int(lengths.max())
        states = self._states(base, rows, at, lengths, width)
        queries = self.queries[rows].each
        if self.held is None:
            mask = self.batch.mask[rows, None, :width].expand(states.shape[:-1])
            weights = self.subject.attention(states, mask, queries.attention)
        else:
            weights = self.held[rows, None, :width]
        return queries.decoded(self.subject.head, (weights[..., None, :] @ states)[..., 0, :])

    @abstractmethod
    def _states(
        self, base: Tensor, rows: Tensor, at: Tensor, lengths: Tensor, width: int
    ) -> Float[Tensor, "row point token state"]:
        """The states at base + at·slope, as wide as the longest text."""


class _BiLSTMLine(_ClassifierLine):
    """The input's share of the gates, of both directions: [batch, direction, position, gate]."""

    def __init__(
        self, subject: Classifier, batch: Batch, start: Tensor, direction: Tensor, held: Tensor | None
    ) -> None:
        super().__init__(subject, batch, held)
        assert isinstance(subject.encoder, BiLSTMNetwork)
        cells = [Cell(lstm) for lstm in (subject.encoder.rightward, subject.encoder.leftward)]
        self.base = torch.stack([cell.project(start) for cell in cells], dim=1).detach()
        self.slope = torch.stack([direction @ cell.into for cell in cells], dim=1).detach()
        self.recurrent = torch.stack([cell.recurrent for cell in cells])

    def _states(self, base: Tensor, rows: Tensor, at: Tensor, lengths: Tensor, width: int) -> Tensor:
        slope = self.slope[rows, :, :width]
        return recurrence(base[:, :, :width], slope, at, self.recurrent, lengths)

    def _tokens(self, gradient: Tensor, rows: Tensor) -> Tensor:
        # direction·(gradient·Wᵀ) = (direction·W)·gradient: no way back to the embeddings is needed.
        return (gradient * self.slope[rows]).sum((1, 3))


class _AverageLine(_ClassifierLine):
    """What the linear layer makes of every token: [batch, position, hidden]."""

    def __init__(
        self, subject: Classifier, batch: Batch, start: Tensor, direction: Tensor, held: Tensor | None
    ) -> None:
        super().__init__(subject, batch, held)
        assert isinstance(subject.encoder, AverageNetwork)
        linear = subject.encoder.linear
        self.activation = subject.encoder.activation
        self.base, self.slope = linear(start).detach(), (direction @ linear.weight.T).detach()

    def _states(self, base: Tensor, rows: Tensor, at: Tensor, lengths: Tensor, width: int) -> Tensor:
        points = base[:, None, :width] + at[..., None, None] * self.slope[rows, None, :width]
        states: Tensor = self.activation(points)
        return states

    def _tokens(self, gradient: Tensor, rows: Tensor) -> Tensor:
        return (gradient * self.slope[rows]).sum(-1)


class _ConvolutionLine(_ClassifierLine):
    """What the convolutions make of the texts before their ReLU: [batch, position, filter]."""

    def __init__(
        self, subject: Classifier, batch: Batch, start: Tensor, direction: Tensor, held: Tensor | None
    ) -> None:
        super().__init__(subject, batch, held)
        assert isinstance(subject.encoder, ConvolutionNetwork)
        self.layers = [layer for layer in subject.encoder.layers if isinstance(layer, nn.Conv1d)]
        inside = torch.arange(start.shape[1], device=start.device) < batch.text.lengths[:, None]
        self.direction = direction * inside[..., None]
        self.base = self._convolved(start * inside[..., None], bias=True).detach()
        self.slope = self._convolved(self.direction, bias=False).detach()

    def _convolved(self, inputs: Shaped[Tensor, "batch position embedding"], *, bias: bool) -> Tensor:
        x = inputs.transpose(1, 2)
        parts = [
            nn.functional.conv1d(x, layer.weight, layer.bias if bias else None, padding=layer.padding)
            for layer in self.layers
        ]
        return torch.cat(parts, dim=1).transpose(1, 2)

    def _states(self, base: Tensor, rows: Tensor, at: Tensor, lengths: Tensor, width: int) -> Tensor:
        return torch.addcmul(base[:, None, :width], at[..., None, None], self.slope[rows, None, :width]).relu()

    def _tokens(self, gradient: Tensor, rows: Tensor) -> Tensor:
        parts = gradient.transpose(1, 2).split([layer.out_channels for layer in self.layers], dim=1)
        back = [
            nn.functional.conv_transpose1d(part, layer.weight, padding=layer.kernel_size[0] // 2)
            for part, layer in zip(parts, self.layers, strict=True)
        ]
        return (torch.stack(back).sum(0).transpose(1, 2) * self.direction[rows]).sum(-1).detach()

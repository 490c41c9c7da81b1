"""A bidirectional LSTM on inputs that lie on straight lines, with a hand-written way back to the lines' beginnings."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.models.products import linear

__all__ = ["recurrence"]


def recurrence(
    base: Float[Tensor, "batch direction position gate"],
    slope: Float[Tensor, "batch direction position gate"],
    at: Float[Tensor, "batch point"],
    recurrent: Float[Tensor, "direction hidden gate"],
    lengths: Int[Tensor, " batch"],
) -> Float[Tensor, "batch point position state"]:
    """The states of both directions where the input's share of the gates is base + at·slope.

    Gates stand in the order of lstm.Cell: in, forget, out, cell, the last doubled, as tanh(x) = 2σ(2x) − 1.
    Gradients reach ``base`` alone, summed over the points.
    """
    states: Tensor = _Recurrence.apply(base, slope, at, recurrent, lengths)  # type: ignore[no-untyped-call]
    return states


class _Recurrence(torch.autograd.Function):
    """Both directions in step: at step s the rightward one stands at s, the leftward one at width − 1 − s."""

    @staticmethod
    def forward(
        ctx: Any, base: Tensor, slope: Tensor, at: Tensor, recurrent: Tensor, lengths: Tensor
    ) -> Float[Tensor, "batch point position state"]:
        """Gates and cells are kept for the way back."""
        batch, two, width, size = base.shape
        hidden, points = size // 4, at.shape[1]
        states = base.new_empty(batch, points, width, two * hidden)
        h = base.new_empty(two, batch * points, hidden)
        before, after = h.view(two, batch, points, hidden)
        silence = _Silence(lengths, width, points)
        beginnings, rises = ([x[:, d, None].unbind(2) for d in range(two)] for x in (base, slope))
        kept: list[tuple[Tensor, tuple[Tensor, ...], Tensor, Tensor]] = []
        for s in range(width):
            # A tensor for each step: one for all would be large enough for the system to clear it anew every time.
            now, c, bend = (base.new_empty(two, batch * points, n) for n in (size, hidden, hidden))
            for d, place in enumerate((s, width - 1 - s)):
                by_text = now[d].view(batch, points, size)
                torch.addcmul(beginnings[d][place], at[..., None], rises[d][place], out=by_text)
            if s:
                for d in range(two):
                    now[d] += linear(h[d], recurrent[d].T)
            into, forget, out, cell = parts = now.sigmoid_().chunk(4, dim=-1)
            # c = i · tanh(g) + f · c, with tanh(g) = 2·cell − 1
            torch.addcmul(into, into, cell, value=-2.0, out=c).neg_()
            if s:
                c.addcmul_(forget, kept[-1][2])
            silence(c, s)
            torch.mul(c, 2.0, out=bend).sigmoid_().mul_(2.0).sub_(1.0)
            torch.mul(out, bend, out=h)
            states[:, :, s, :hidden] = before
            states[:, :, width - 1 - s, hidden:] = after
            kept.append((now, parts, c, bend))
        ctx.kept, ctx.silence, ctx.recurrent = kept, silence, recurrent
        return states

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> tuple[Tensor, None, None, None, None]:
        """Back through time; the points' gradients are summed as they come."""
        (given,) = upstream
        batch, points, width, state = given.shape
        hidden, back = state // 2, ctx.recurrent.transpose(1, 2)
        size = 4 * hidden
        found = given.new_empty(batch, 2, width, size)
        d_state, d_cell = (given.new_zeros(2, batch * points, hidden) for _ in range(2))
        onto, d_gates = (given.new_empty(2, batch * points, size) for _ in range(2))
        before, after = d_state.view(2, batch, points, hidden)
        d_into, d_forget, d_out, d_new = onto.chunk(4, dim=-1)
        by_text = d_gates.view(2, batch, points, size)
        for s in reversed(range(width)):
            now, (into, forget, out, cell), _, bend = ctx.kept[s]
            before.copy_(given[:, :, s, :hidden])
            after.copy_(given[:, :, width - 1 - s, hidden:])
            if s < width - 1:
                for d in range(2):
                    d_state[d] += linear(d_gates[d], back[d].T)
            torch.mul(d_state, bend, out=d_out)
            # ∂c += ∂h · o · (1 − tanh² c)
            d_cell.addcmul_(d_state.addcmul_(d_out, bend, value=-1.0), out)
            ctx.silence(d_cell, s)
            torch.mul(d_cell, cell, out=d_into).mul_(2.0).sub_(d_cell)
            torch.mul(d_cell, into, out=d_new).mul_(2.0)
            if s:
                torch.mul(d_cell, ctx.kept[s - 1][2], out=d_forget)
            else:
                d_forget.zero_()
            d_cell.mul_(forget)
            torch.addcmul(now, now, now, value=-1.0, out=d_gates).mul_(onto)
            for d, place in enumerate((s, width - 1 - s)):
                torch.sum(by_text[d], dim=1, out=found[:, d, place])
        return found, None, None, None, None


class _Silence:
    """Zeroes the leftward rows of texts that end before the position of a step."""

    def __init__(self, lengths: Int[Tensor, " batch"], width: int, points: int) -> None:
        self.width, self.shortest = width, int(lengths.min()) if len(lengths) else width
        inside = torch.arange(width, device=lengths.device)[:, None] < lengths
        self.inside = inside.repeat_interleave(points, dim=1)[..., None]

    def __call__(self, values: Float[Tensor, "direction row hidden"], step: int) -> None:
        position = self.width - 1 - step
        if position >= self.shortest:
            values[1].mul_(self.inside[position])

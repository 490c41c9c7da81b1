"""Integrals of gradients along straight lines, cut finer where they miss the difference they must add up to."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from attentest.explainers.budget import in_slices, positions
from attentest.explainers.explainer import margin
from attentest.explainers.gradient.quadrature import LOBATTO
from attentest.explainers.gradient.slopes import differentiable
from attentest.models.shared_work.lines import Line

__all__ = ["Pieces", "Way"]

#: No piece is cut finer than this: beyond it, points are no longer apart in single precision.
FINEST = 2.0**-18


@dataclass(frozen=True)
class Way:
    """A line for every text of a batch, the class whose margin F is followed, and how many points go together."""

    line: Line
    target: Int[Tensor, " batch"]
    #: Points that one pass may hold; 0: as many as memory should hold.
    points: int = 0

    def spread(self, values: tuple[float, ...], rows: Int[Tensor, " row"]) -> Float[Tensor, "row point"]:
        """The same numbers for every row."""
        return self.line.base.new_tensor(values).expand(len(rows), -1)

    @torch.no_grad()
    def outputs(self, rows: Int[Tensor, " row"], at: Float[Tensor, "row point"]) -> Float64[Tensor, "row point"]:
        """F at these points of these texts."""

        def texts(part: slice) -> Tensor:
            return self._margins(rows[part], self.line.logits(rows[part], at[part]))

        found = in_slices(texts, len(rows), self._room(rows) // at.shape[1])
        return torch.cat(found) if found else at.double()

    def scores(
        self, rows: Int[Tensor, " row"], at: Float[Tensor, "row point"], weight: Float[Tensor, "row point"]
    ) -> tuple[Float[Tensor, "row token"], Float64[Tensor, "row point"]]:
        """direction · Σ weight · ∂F/∂point for every token, and F at the points; texts of like length go together."""
        if not len(rows):
            return self.line.batch.mask[:0].to(at), at.double()
        order = self.line.batch.text.lengths[rows].argsort(descending=True, stable=True)
        room, steps = self._room(rows), at.shape[1]

        def texts(part: slice) -> tuple[Tensor, Tensor]:
            some = order[part]

            def through(where: slice) -> tuple[Tensor, Tensor]:
                with differentiable(self.line.subject):
                    return self.line.scores(
                        rows[some],
                        at[some, where],
                        weight[some, where],
                        lambda logits: self._margins(rows[some], logits),
                    )

            scores, outputs = zip(*in_slices(through, steps, room // len(some)), strict=True)
            return torch.stack(scores).sum(0), torch.cat(outputs, dim=1)

        scores, outputs = zip(*in_slices(texts, len(rows), room // steps), strict=True)
        back = order.argsort()
        return torch.cat(scores)[back], torch.cat(outputs)[back]

    def _margins(self, rows: Tensor, logits: Float[Tensor, "row point class"]) -> Float64[Tensor, "row point"]:
        return margin(logits.double(), self.target[rows, None].expand(logits.shape[:-1]))

    def _room(self, rows: Tensor) -> int:
        if self.points or not len(rows):
            return max(1, self.points)
        return max(1, positions(rows.device) // int(self.line.batch.text.lengths[rows].max()))


class Pieces:
    """The ways of some texts in pieces: the scores of each, and by how much they miss the rise from end to end."""

    row: Int[Tensor, " piece"]
    low: Float[Tensor, " piece"]
    high: Float[Tensor, " piece"]
    scores: Float[Tensor, "piece token"]
    miss: Float64[Tensor, " piece"]

    def __init__(self, way: Way, rows: Int[Tensor, " row"], count: int) -> None:
        self.way = way
        ends = torch.arange(count + 1, device=rows.device, dtype=way.line.base.dtype) / count
        self._add(rows.repeat_interleave(count), ends[:-1].repeat(len(rows)), ends[1:].repeat(len(rows)))

    def refine(self, allowed: Float64[Tensor, " batch"], most: int) -> Int[Tensor, " batch"]:
        """Halve the pieces that miss most, until a text misses no more than allowed; the points that this took."""
        each = len(LOBATTO[0])
        spent = self._count(self.row) * each
        while True:
            miss = torch.zeros_like(allowed).index_add(0, self.row, self.miss)
            share = allowed / (2 * self._count(self.row).clamp(min=1))
            worst = (miss.abs() > allowed)[self.row] & (self.miss.abs() > share[self.row])
            worst &= self.high - self.low > FINEST
            worst &= self._rank(worst) < ((most - spent) // (2 * each))[self.row]
            if not worst.any():
                return spent
            spent += 2 * each * self._count(self.row[worst])
            self._halve(worst)

    def _rank(self, which: Bool[Tensor, " piece"]) -> Int[Tensor, " piece"]:
        """How many of a text's chosen pieces miss by more than this one does."""
        by_miss = torch.where(which, self.miss.abs(), -1.0).argsort(descending=True, stable=True)
        order = by_miss[self.row[by_miss].argsort(stable=True)]
        first = torch.cumsum(self._count(self.row), 0) - self._count(self.row)
        rank = torch.empty_like(order)
        rank[order] = torch.arange(len(order), device=order.device) - first[self.row[order]]
        return rank

    def total(self) -> Float[Tensor, "batch token"]:
        """The scores of every text, its pieces together."""
        batch = self.way.line.batch
        return self.scores.new_zeros(batch.mask.shape).index_add(0, self.row, self.scores)

    def _halve(self, which: Tensor) -> None:
        row, low, high = self.row[which], self.low[which], self.high[which]
        kept = [x[~which] for x in (self.row, self.low, self.high, self.scores, self.miss)]
        middle = (low + high) / 2
        self._add(torch.cat([row, row]), torch.cat([low, middle]), torch.cat([middle, high]))
        made = (self.row, self.low, self.high, self.scores, self.miss)
        self.row, self.low, self.high, self.scores, self.miss = (
            torch.cat(pair) for pair in zip(kept, made, strict=True)
        )

    def _add(self, row: Tensor, low: Tensor, high: Tensor) -> None:
        at, weight = (low.new_tensor(x) for x in LOBATTO)
        size = (high - low)[:, None]
        self.row, self.low, self.high = row, low, high
        self.scores, outputs = self.way.scores(row, low[:, None] + size * at, size * weight)
        self.miss = outputs[:, -1] - outputs[:, 0] - self.scores.double().sum(-1)

    def _count(self, row: Tensor) -> Int[Tensor, " batch"]:
        return row.bincount(minlength=len(self.way.line.batch))

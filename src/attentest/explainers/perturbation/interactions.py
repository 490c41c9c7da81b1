"""Interactions: what two tokens do together beyond what each does alone, as "not" and "good" do.

One number for every pair of tokens, on request: no challenge asks for them. Two methods, one that erases and one that
differentiates; both explain the margin of the target class.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.budget import in_slices, positions
from attentest.explainers.erasure import check_erasure, erased
from attentest.explainers.explainer import margin
from attentest.explainers.gradient.slopes import Baselines, check_baselines, differentiable, target_of
from attentest.models.copies import copies
from attentest.models.subject import Reading, Subject
from attentest.parameters import Checked, Within
from attentest.registry import Registry, classes_below

__all__ = ["INTERACTIONS", "IntegratedHessians", "Interaction", "Interactions", "PairwiseOcclusion", "interactions"]

#: Flags of kept tokens that one call of erasure may hold.
FLAGS = 1 << 24
#: A gap that single precision may leave.
ROUNDING = 1e-5


@dataclass(frozen=True)
class Interactions:
    """Scores of pairs with what can be said for their correctness, instance by instance."""

    #: Symmetric, zero outside the mask; on the diagonal stands what a token does by itself.
    scores: Float[Tensor, "batch token token"]
    certificate: Mapping[str, Float[Tensor, " batch"]] = field(default_factory=dict)


class Interaction(Checked, ABC):
    """A frozen description of a method; ``explain`` applies it to a batch."""

    name: ClassVar[str]
    summary: ClassVar[str]
    reference: ClassVar[str]
    cost: ClassVar[str]

    @abstractmethod
    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Interactions:
        """Scores of every pair for the target class (None: the predicted one)."""


@dataclass(frozen=True)
class PairwiseOcclusion(Interaction):
    """F(x) − F(x without i) − F(x without j) + F(x without both); on the diagonal, F(x) − F(x without i).

    The plainest question: is erasing both tokens more, or less, than erasing the one and erasing the other? What is
    measured is the margin of the class, so it is zero for every pair of a model that adds its words up.

    Where erasing a pair leaves nothing to attend to (``delete`` in a text of two tokens), it is not a number.
    """

    name: ClassVar[str] = "pairwise_occlusion"
    summary: ClassVar[str] = "what erasing two tokens does beyond erasing each of them"
    reference: ClassVar[str] = "the mixed difference of leave-one-out (Li et al. 2016)"
    cost: ClassVar[str] = "T(T + 1)/2 + 1 forward passes"
    erasure: Annotated[str, "How tokens are erased: `delete`, `mask`, `zero`, `mean` or `zero_attention`."] = "delete"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_erasure(self.erasure)

    @torch.no_grad()
    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Interactions:
        """All pairs of all instances in the batch of erasures, as many at a time as the budget holds."""
        wanted, width = target_of(reading, target), batch.mask.shape[1]
        first, second = torch.triu_indices(width, width, device=batch.mask.device).unbind()  # i = j: one token alone
        size = max(1, FLAGS // (len(batch) * width))
        here = torch.arange(width, device=batch.mask.device)

        def outputs(kept: Bool[Tensor, "alternative position"]) -> Float[Tensor, "batch alternative"]:
            keep = kept.expand(len(batch), *kept.shape)
            logits = erased(subject, batch, reading, keep, self.erasure)
            return margin(logits, wanted[:, None].expand(logits.shape[:-1]))

        pairs = zip(first.split(size), second.split(size), strict=True)
        without = torch.cat([outputs((here != i[:, None]) & (here != j[:, None])) for i, j in pairs], dim=1)
        both = without.new_zeros(len(batch), width, width)
        both[:, first, second] = both[:, second, first] = without
        alone, whole = both.diagonal(dim1=1, dim2=2), outputs(torch.ones_like(here, dtype=torch.bool)[None])
        mixed = whole[..., None] - alone[:, :, None] - alone[:, None, :] + both
        mixed.diagonal(dim1=1, dim2=2).copy_(whole - alone)
        return Interactions(torch.where(_pairs(batch), mixed, 0.0))


@dataclass(frozen=True)
class IntegratedHessians(Interaction):
    """Integrated gradients of integrated gradients: Γ_ij = ∫∫ ab ∂²F/∂s_i∂s_j da db, at s = ab on the line to x.

    All pairs, and what every token does by itself, add up to the
    difference between the text and a text without words; the certificate says how nearly. A ReLU has its curvature
    in a kink that no second derivative sees, so there the sum misses.

    Both integrals are one, since only ab enters: ∫ g(ab) = ∫ −ln(t) g(t) dt.
    """

    name: ClassVar[str] = "integrated_hessians"
    summary: ClassVar[str] = "second derivatives integrated from a baseline; all pairs add up"
    reference: ClassVar[str] = "Janizek et al. 2021"
    cost: ClassVar[str] = "n_steps forward passes, and T + 1 backward passes for each; more where they miss"
    n_steps: Annotated[int, "Points on the way from the baseline.", Within(1, 10_000)] = 32
    baselines: Baselines = "zero"
    tolerance: Annotated[
        float,
        "A text whose scores miss the difference by a larger share gets twice the points, as long as that helps.",
        Within(0, 1e6),
    ] = 0.001
    most_steps: Annotated[int, "No text gets more points than this.", Within(1, 100_000)] = 512

    def __post_init__(self) -> None:
        super().__post_init__()
        check_baselines(self.name, self.baselines)

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Interactions:
        """All texts at n_steps; then, with twice the steps, those that do not add up, as long as that helps."""
        wanted, (count, width) = target_of(reading, target), batch.mask.shape
        given = subject.embed(batch).detach()
        absent = torch.where(batch.mask[..., None], subject.baseline(self.baselines).to(given), given)
        with torch.no_grad():
            nothing = subject.read(batch, embeddings=absent).logits.double()
        difference = margin(reading.logits.detach().double(), wanted) - margin(nothing, wanted)
        scores = difference.new_zeros(count, width, width)
        gap, used = torch.full_like(difference, torch.inf), torch.zeros_like(difference)
        left, steps = torch.arange(count, device=given.device), self.n_steps
        while len(left):
            found = self._integrated(subject, batch, absent, given, wanted, left, steps)
            now = (found.sum((1, 2)) - difference[left]).abs()
            again = (now > self.tolerance * difference[left].abs() + ROUNDING) & (now < gap[left] / 2)
            scores[left], gap[left], used[left] = found, now, float(steps)
            steps *= 2
            left = left[again] if steps <= self.most_steps else left[:0]
        asymmetry = (scores - scores.mT).abs().amax((1, 2))
        certificate = {"completeness_gap": gap, "difference": difference, "steps": used, "symmetry_gap": asymmetry}
        return Interactions((scores + scores.mT) / 2, certificate)

    def _integrated(
        self, subject: Subject, batch: Batch, absent: Tensor, given: Tensor, target: Tensor, rows: Tensor, steps: int
    ) -> Float[Tensor, "left token token"]:
        """Texts and points of the line in one batch; the graph is kept, and gives a row of Hessians for every token."""
        at, once, twice = (given.new_tensor(x) for x in _points(steps))
        out = torch.zeros(len(rows), *batch.mask.shape[1:] * 2, dtype=torch.float64, device=given.device)

        def collect(part: slice) -> None:
            item = torch.arange(len(rows) * steps, device=given.device)[part]
            place, point = item // steps, item % steps
            some = copies(batch, rows[place])
            long = some.mask.shape[1]
            ends = absent[rows[place], :long], given[rows[place], :long]
            for i, (slope, curvature) in self._derivatives(subject, some, *ends, target[rows[place]], at[point]):
                out[:, i, :long].index_add_(0, place, (twice[point, None] * curvature).double())
                out[:, i, i].index_add_(0, place, (once[point] * slope).double())

        in_slices(collect, len(rows) * steps, positions(subject.device) // 8 // batch.mask.shape[1])
        return out

    def _derivatives(
        self, subject: Subject, batch: Batch, absent: Tensor, given: Tensor, target: Tensor, at: Tensor
    ) -> list[tuple[int, tuple[Float[Tensor, " copy"], Float[Tensor, "copy token"]]]]:
        """∂F/∂s_i and ∂²F/∂s_i∂s_j of every j, for every i, each copy at its own point of the line."""
        found = []
        with differentiable(subject):
            scale = at[:, None].expand(batch.mask.shape).clone().requires_grad_()
            embeddings = absent + scale[..., None] * (given - absent)
            output = margin(subject.read(batch, embeddings=embeddings).logits, target).sum()
            (slopes,) = torch.autograd.grad(output, scale, create_graph=True)
            for i in batch.mask.any(0).nonzero()[:, 0].tolist():
                curvature = torch.zeros_like(scale)
                if slopes.requires_grad:  # it does not where the subject is linear
                    (curvature,) = torch.autograd.grad(
                        slopes[:, i].sum(), scale, retain_graph=True, materialize_grads=True
                    )
                real = batch.mask[:, i]
                found.append((i, (slopes[:, i].detach() * real, curvature * batch.mask * real[:, None])))
        return found


INTERACTIONS: Registry[Interaction] = Registry(
    "interaction", partial(classes_below, "attentest.explainers", Interaction)
)


def interactions(
    subject: Subject,
    batch: Batch,
    reading: Reading,
    method: str = "pairwise_occlusion",
    target: Int[Tensor, " batch"] | None = None,
) -> Float[Tensor, "batch token token"]:
    """The scores of every pair by one of INTERACTIONS, such as ``integrated_hessians(n_steps=64)``."""
    return INTERACTIONS.parse(method).explain(subject, batch, reading, target).scores


def _points(n_steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points t on the line, and their weights for −ln(t) g(t) and −t ln(t) g(t): Gauss & Legendre in t = u³."""
    nodes, weights = np.polynomial.legendre.leggauss(n_steps)
    u = (nodes + 1) / 2
    t = u**3  # so that the logarithm's pole is smoothed away
    once = weights / 2 * 3 * u**2 * -np.log(t)
    return t, once, once * t


def _pairs(batch: Batch) -> Bool[Tensor, "batch token token"]:
    return batch.mask[:, :, None] & batch.mask[:, None, :]

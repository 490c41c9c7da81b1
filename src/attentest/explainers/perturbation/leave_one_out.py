"""Leave-one-out: how the prediction changes when a token is really deleted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.data.batches import Batch
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.shared import Shared
from attentest.measures.divergence import total_variation
from attentest.measures.packing import cheapest_cuts, consecutive
from attentest.models.capabilities import ReadsMany
from attentest.models.networks.classifier import is_shareable
from attentest.models.parts.bidirectional import BidirectionalNetwork
from attentest.models.shared_work.deletion import weighs_by_energy
from attentest.models.subject import Reading, Subject

__all__ = ["LeaveOneOut", "deleted"]

#: Positions × positions that one deletion batch may hold: a core's cache is small, a GPU waits for every step.
BUDGET = {"cpu": 30_000, "cuda": 2_500_000}
#: Positions that go through a CPU together where little is kept of each pair, and numbers that may be kept then.
POSITIONS, NUMBERS = 3_400, 4_000_000
#: What one step costs by itself on a CPU, in pairs of positions.
STEP = 60.0


@dataclass(frozen=True)
class LeaveOneOut(Explainer):
    """TVD(ŷ(x), ŷ(x without token t)), the sequence encoded again without it.

    Token *t* is really taken out of the text and the rest is encoded again, so its traces in all other states are
    gone too. This asks about the *token*.
    """

    name: ClassVar[str] = "leave_one_out"
    summary: ClassVar[str] = "change of the prediction when the token is deleted and the rest encoded again"
    reference: ClassVar[str] = "Jain & Wallace 2019, algorithm 1; Li et al. 2016"
    erases: ClassVar[str] = "tokens"
    cost: ClassVar[str] = "T forward passes, shared prefixes computed once"

    def explain(
        self, subject: Subject, batch: Batch, reading: Reading, target: Int[Tensor, " batch"] | None = None
    ) -> Attribution:
        """Deletions of several instances at a time, as many as the memory budget allows."""
        return self.explain_sharing(Shared(subject, batch, reading, target))

    @torch.no_grad()
    def explain_sharing(self, shared: Shared) -> Attribution:
        """The same; what is read without a word may be kept for whoever erases it."""
        mask, whole = shared.reading.mask, shared.reading.logits.double().softmax(-1)[:, None]
        without = deleted(shared.subject, shared.batch, mask)
        if isinstance(shared.subject, ReadsMany):
            others = ~torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
            shared.known("delete").learn(mask[:, None] & others & mask[:, :, None], without)
        return Attribution(torch.where(mask, total_variation(without.softmax(-1), whole), 0.0))


def kept_of_each(subject: Subject) -> int:
    """Numbers that are kept of every position without another, where these are an energy and values; else 0."""
    if not is_shareable(subject) or subject.architecture.query or not weighs_by_energy(subject.attention):
        return 0
    if not isinstance(subject.encoder, BidirectionalNetwork):
        return 0
    return 1 + (subject.classes if subject.head.affine else subject.encoder.size)


def deleted(subject: Subject, batch: Batch, mask: Bool[Tensor, "batch token"]) -> Float[Tensor, "batch token class"]:
    """The logits without each item, in double precision; the batch is cut, each part as wide as its longest text."""
    budget, few = BUDGET.get(subject.device.type, BUDGET["cpu"]), kept_of_each(subject)
    lengths = batch.text.lengths if mask.shape == batch.mask.shape else mask.sum(-1)
    parts: Iterable[slice | Tensor]
    if few and subject.device.type == "cpu":
        parts = cheapest_cuts(lengths, STEP, lambda width: min(POSITIONS // width, NUMBERS // (width**2 * few)))
    else:
        parts = consecutive(lengths, budget, power=2)
    out = torch.zeros(*mask.shape, subject.classes, dtype=torch.float64, device=mask.device)
    for rows in parts:
        part = batch[rows]
        found = subject.delete_each(part.narrowed(int(part.text.lengths.max())))
        out[rows, : found.shape[1]] = found.double()
    return out

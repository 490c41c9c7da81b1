"""Permutation: does the prediction change when the weights are shuffled over the tokens?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, classes, flags, largest, numbers, reasons
from attentest.challenges.rereading import Reread, reachable, reread
from attentest.explainers.perturbation.state_erasure import erasure_effect
from attentest.measures.capture import captured
from attentest.measures.chance import permutations, uniforms
from attentest.measures.permutations import all_permutations, moments
from attentest.measures.rounding import moves
from attentest.parameters import Within
from attentest.store.findings import Measure

__all__ = ["Permutation"]

#: The number of words chosen, as in agreement.
TOP = 3
#: Up to this many tokens all T! ≤ 120 permutations are taken instead of a sample.
ENUMERATED = 5


@dataclass(frozen=True)
class Permutation(Challenge):
    """Median change of the prediction over permutations of the weights (algorithm 2).

    The weights of one text are shuffled over its tokens, again and again. Texts of up to five tokens are not
    sampled: all T! ≤ 120 orders are taken. With an affine head and two classes the mean, the spread and the
    extremes over *all* orders [are exact](../../explanation/the-exact-adversary.md#all-permutations-at-once).
    """

    name: ClassVar[str] = "permutation"
    question: ClassVar[str] = "Does the prediction change when the weights are shuffled?"
    reference: ClassVar[str] = "Jain & Wallace 2019, section 4.2.1"
    draws: Annotated[int, "Shuffles of each text.", Within(1, 10_000)] = 100

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How much, and how often the decision turns."""
        return (
            Measure("median_change", "median_change", "mean", "median change of ŷ (TVD) over permutations"),
            Measure(
                "median_moved",
                "median_moved",
                "mean",
                "median change of the logits over permutations, of all that weights can do",
            ),
            Measure("flips", "flips", "share", "share of permutations that flip the decision"),
            Measure("largest_change", "largest_change", "mean", "largest change of ŷ over all T! permutations"),
            Measure("accuracy", "correct", "fraction", "share of correct predictions, own weights"),
            Measure("accuracy_permuted", "correct_permuted", "share", "share of correct predictions, permuted weights"),
            Measure("gained", "gained", "mean", "change of the share of correct predictions under permuted weights"),
            Measure(
                "shuffled_captured",
                "shuffled_captured",
                "mean",
                f"shuffled weights: captured of the effect of erasing their states, top {TOP}",
            ),
        )

    def examine(self, examination: Examination) -> pa.Table:
        """Short texts enumerated, the others sampled."""
        lengths, single, labels = examination.lengths, examination.single, examination.batch.labels.cpu()
        own = examination.logits.argmax(-1).cpu()
        nothing = torch.full((len(single),), torch.nan, dtype=torch.float64)
        median, mean, moved, flips, still = (nothing.clone() for _ in range(5))
        decided, draws = torch.zeros_like(own), np.full(len(single), self.draws)
        enumerated = (lengths <= ENUMERATED).cpu()
        for few in (True, False):
            chosen = (enumerated == few).nonzero()[:, 0]
            if not len(chosen):
                continue
            found, valid = self._found(examination, chosen, few)
            total = valid.sum(-1)
            draws[chosen.numpy()] = total.numpy()
            decided[chosen] = found.decided.gather(-1, _first(examination, chosen, total, few)[:, None])[:, 0]
            median[chosen] = _median(found.change, valid)
            moved[chosen] = _median(found.moved, valid)
            mean[chosen] = torch.where(valid, found.change, 0.0).sum(-1) / total
            flips[chosen] = ((found.decided != own[chosen, None]) & valid).double().sum(-1) / total
            still[chosen] = ((found.decided == labels[chosen, None]) & valid).double().sum(-1) / total
        judged = ~single
        right = examination.reading.predicted.cpu() == labels
        columns = {
            "row": examination.rows,
            "tokens": pa.array(lengths.cpu().numpy(), pa.int32()),
            "max_attention": numbers(largest(examination.weights)),
            "median_change": numbers(median, judged),
            "mean_change": numbers(mean, judged),
            "median_moved": numbers(moved / reachable(examination).cpu(), judged),
            "flips": numbers(flips, judged),
            "decided": classes(decided, judged),
            "draws": pa.array(draws, pa.int32()),
            "enumerated": flags(enumerated),
            "label": pa.array(labels.numpy(), pa.int32()),
            "correct": flags(right, judged),
            "correct_permuted": numbers(still, judged),
            "gained": numbers(still - right.double(), judged),
            "shuffled_captured": numbers(_shuffled_captured(examination), judged),
            **self._exact(examination, judged),
            "not_judged": reasons((single, "fewer than two tokens")),
        }
        return pa.table(columns)

    def _found(self, examination: Examination, chosen: Tensor, few: bool) -> tuple[Reread, Tensor]:
        """The prediction under every permutation, and which of them count, for some instances."""
        mask, device = examination.mask, examination.mask.device
        here = chosen.to(device)
        if few:
            order, valid = all_permutations(mask[here])
        else:
            order = permutations(examination.batch.keys[here], self.draws, mask[here], examination.seed)
            valid = torch.ones(order.shape[:2], dtype=torch.bool, device=device)
        full = torch.arange(order.shape[-1], device=device).expand(len(mask), order.shape[1], -1).clone()
        full[here] = order
        found = reread(examination, examination.weights[:, None, :].expand(-1, order.shape[1], -1).gather(-1, full))
        return Reread(found.change[here].cpu(), found.decided[here].cpu(), found.moved[here].cpu()), valid.cpu()

    def _exact(self, examination: Examination, judged: np.ndarray) -> dict[str, pa.Array]:
        """Mean, deviation and extremes of the margin z_1 − z_0 over all permutations (two classes only)."""
        names = ("margin", "margin_mean", "margin_deviation", "margin_lowest", "margin_highest", "largest_change")
        z = examination.reading.token_logits
        if z is None or z.shape[-1] != 2:
            return {name: pa.nulls(len(judged), pa.float64()) for name in names}
        z = z.double()
        found = moments(examination.weights, z[..., 1] - z[..., 0], examination.mask)
        own = examination.logits
        margin = own[:, 1] - own[:, 0]
        y = margin.sigmoid()
        change = torch.maximum(found.highest.sigmoid() - y, y - found.lowest.sigmoid())
        values = (margin, found.mean, found.variance.sqrt(), found.lowest, found.highest, change)
        return {name: numbers(value, judged) for name, value in zip(names, values, strict=True)}


def _first(examination: Examination, chosen: Tensor, total: Tensor, few: bool) -> Tensor:
    """Which permutation is the first drawn; of those that are listed, one by the text's own random number."""
    if not few:
        return torch.zeros_like(total)
    number = uniforms(examination.batch.keys, 1, 1, examination.seed, "listed")[:, 0, 0].cpu()[chosen]
    return (number * total).long()


def _shuffled_captured(examination: Examination) -> Tensor:
    """What weights shuffled once capture of the erasure effects they themselves cause: the null of that agreement."""
    mask = examination.mask
    order = permutations(examination.batch.keys, 1, mask, examination.seed, "null")[:, 0]
    shuffled = examination.weights.gather(-1, order)
    effect = erasure_effect(examination.reading, shuffled, mask)
    return captured(shuffled, effect, mask, TOP).where(moves(effect, examination.logits, mask), torch.nan)


def _median(values: Tensor, valid: Tensor) -> Tensor:
    """The median over valid draws: the mean of the middle two when their number is even."""
    ordered = torch.where(valid, values, torch.inf).sort(-1).values
    total = valid.sum(-1, keepdim=True)
    low = ordered.gather(-1, (total - 1) // 2)
    high = ordered.gather(-1, total // 2)
    return ((low + high) / 2)[:, 0]

"""Flip sets: how many weights must go before the decision flips, in several orders and at the least?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.errors import InputError
from attentest.explainers.explainer import margin
from attentest.measures.chance import uniforms
from attentest.measures.flip_sets import (
    Flips,
    fewest,
    first_flips,
    first_flips_by_rereading,
    removal_orders,
    smallest_flips,
    turns,
)
from attentest.measures.packing import ordinals
from attentest.measures.rounding import SINGLE
from attentest.parameters import Within
from attentest.store.findings import Measure, Statistic

__all__ = ["RANDOM", "SCORED", "SMALLEST", "FlipSets"]

#: The orders that scores make, highest first.
SCORED = ("attention", "gradient", "gradient_x_attention")
#: The row that holds the means of the random draws (random_1, random_2, …), and that of the smallest set.
RANDOM, SMALLEST = "random", "smallest"

#: Whether the head's bias is left out of the gradient, as in the paper, or shared out over the items by their weight.
BIASES = ("unfolded", "folded")
#: What a text without any weight is: no decision, or, as in the released code, what the head's bias decides.
EMPTIED = ("undecided", "bias")

REMOVED, TIMES = "share of items removed until the decision flips", "times as many items as the smallest set"
EACH: tuple[tuple[str, str, Statistic, str], ...] = (
    ("dropped", "flip_fraction", "share", f"{REMOVED}; never-flipped dropped (Serrano & Smith)"),
    ("counted", "until_flip", "share", f"{REMOVED}; never-flipped counted as 1 (Mohankumar et al.)"),
    ("never", "never", "fraction", "share of decisions that never flip"),
    ("mass", "mass", "mean", "attention removed until the decision flips"),
    ("times", "times_smallest", "mean", f"{TIMES}; never-flipped dropped"),
    ("times_counted", "times_smallest_counted", "mean", f"{TIMES}; never-flipped counted as all items"),
)


@dataclass(frozen=True)
class FlipSets(Challenge):
    r"""The share of items removed before the first flip: by attention, gradients, chance, and the smallest set.

    Weights are zeroed one after the other, the rest scaled up to sum to one, until another class wins. Put first
    are the largest weights (`attention`), the weights on which the predicted class depends most (`gradient`), the
    product of the two (`gradient_x_attention`), or any (`random`). Beside them stands the *smallest* set of all:
    what is left decides by the sum of $\alpha_t (z_{t,\hat y} - z_{t,c})$, so removing the largest of these first
    is the fastest way to class *c*, and the best *c* gives a set that no other can undercut. How many times as many
    weights an order needs is how far it is from pointing at what decides. With a head that is not affine every set
    is decided anew, and the smallest is the smallest that any order came upon.

    Some decisions never flip: in this order, or (`smallest.never`) in none, because every state by itself speaks
    for the class. They are a share of their own. Serrano & Smith leave them out of the mean (`dropped`), Mohankumar
    et al. count them as 1 (`counted`); `times` and `times_counted` do the same to the comparison with the smallest
    set. A tie is no flip, a text without any weight left has not flipped, and weights of zero do not count as
    removed. A text with most weights removed is unlike any that the model was trained on. Not part of an audit
    unless asked for.
    """

    name: ClassVar[str] = "flip_sets"
    question: ClassVar[str] = "How many weights must be removed before the decision flips, and how many at the least?"
    reference: ClassVar[str] = "Serrano & Smith 2019, section 5; Mohankumar et al. 2020 for texts that never flip"
    draws: Annotated[int, "Random orders of each text.", Within(1, 1000)] = 5
    bias: Annotated[
        str,
        "`unfolded`: the gradient leaves out the head's bias, as in the paper. `folded`: every weight carries its "
        "share of it; with two classes `gradient_x_attention` is then the best order there is.",
    ] = "unfolded"
    emptied: Annotated[
        str,
        "What a text is whose weights are all zero: `undecided`, or, as in the code released with the paper, what "
        "the head's `bias` says.",
    ] = "undecided"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, known in (("bias", BIASES), ("emptied", EMPTIED)):
            if getattr(self, name) not in known:
                raise InputError(f"flip_sets: {name}={getattr(self, name)!r} must be one of {', '.join(known)}.")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """For every order both papers' ways with texts that never flip, and how far it is from the smallest set."""
        return tuple(self._measures())

    def _measures(self) -> Iterator[Measure]:
        for order in (SMALLEST, *SCORED, RANDOM):
            for name, column, statistic, words in EACH[: 4 if order == SMALLEST else None]:
                # A random order's flag is the share of its draws.
                kind: Statistic = "share" if order == RANDOM and statistic == "fraction" else statistic
                yield Measure(f"{order}.{name}", column, kind, f"{order}: {words}", {"order": order})
        yield Measure("proved", "proved", "fraction", "share where the smallest set is proved", {"order": SMALLEST})

    def examine(self, examination: Examination) -> pa.Table:
        """One row per text and order."""
        weights, mask, lengths = examination.weights, examination.mask, examination.lengths
        decision = examination.logits.argmax(-1)
        orders = removal_orders(self._scores(examination, decision), weights, mask)
        flips, members, proved = self._flips(examination, decision, orders)
        if self.emptied == "bias":
            there = mask & (weights > 0)
            last = (flips.removed == 0) & turns(_bias(examination), decision)[:, None]
            flips = Flips(torch.where(last, there.sum(-1)[:, None], flips.removed), flips.mass.masked_fill(last, 1.0))
            members = members | (last[:, -1:] & there)
        names = (*SCORED, *(f"{RANDOM}_{draw + 1}" for draw in range(self.draws)), SMALLEST, RANDOM)
        first, second = examination.logits.topk(2).values.unbind(-1)
        level = (first - second <= SINGLE * examination.logits.abs().amax(-1).clamp(min=1.0)).cpu().numpy()
        single, level = (np.tile(some, len(names)) for some in (examination.single, level))
        judged = ~(single | level)
        drawn = slice(len(SCORED), len(SCORED) + self.draws)
        columns = {
            name: torch.cat([values, values[:, drawn].nanmean(-1, keepdim=True)], dim=1)
            for name, values in _columns(flips, lengths).items()
        }
        return pa.table(
            {
                "row": np.tile(examination.rows, len(names)),
                "order": pa.array(np.repeat(np.array(names, dtype=object), len(weights)), pa.string()),
                "tokens": pa.array(np.tile(lengths.cpu().numpy(), len(names)), pa.int32()),
                **{name: numbers(values.T.flatten(), judged) for name, values in columns.items()},
                "proved": flags(proved.repeat(len(names)), judged),
                "items": _items(members & (lengths > 1)[:, None], mask, names.index(SMALLEST), len(names)),
                "not_judged": reasons((single, "fewer than two tokens"), (level, "two classes are level")),
            }
        )

    def _scores(self, examination: Examination, decision: Int[Tensor, " batch"]) -> Float[Tensor, "batch order token"]:
        """What makes the orders: the weights, slopes at them, their product, and random numbers."""
        weights, mask = examination.weights, examination.mask
        slope = _slope(examination, decision, folded=self.bias == "folded")
        random = uniforms(examination.batch.keys, self.draws, mask.shape[1], examination.seed, "flip_sets", mask)
        return torch.cat([torch.stack([weights, slope, weights * slope], dim=1), random], dim=1)

    def _flips(
        self, examination: Examination, decision: Int[Tensor, " batch"], orders: Int[Tensor, "batch order token"]
    ) -> tuple[Flips, Bool[Tensor, "batch token"], Bool[Tensor, " batch"]]:
        """Every order's first flip and at last the smallest set's, its items, and whether it is proved."""
        weights, mask, reading = examination.weights, examination.mask, examination.reading
        if reading.token_logits is not None:
            found = first_flips(weights, reading.token_logits, mask, decision, orders)
            least, members = smallest_flips(weights, reading.token_logits, mask, decision)
            proved = torch.ones_like(decision, dtype=torch.bool)
        else:
            # The plane that touches the head at the model's own weights has a smallest set, too: one more order.
            near = weights * _slope(examination, decision, folded=True)
            orders = torch.cat([orders, removal_orders(near[:, None], weights, mask)], dim=1)
            found = first_flips_by_rereading(weights, mask, decision, orders, reading.reread)
            least, members = fewest(found, orders)
            proved = least.removed == 1
            found = Flips(found.removed[:, :-1], found.mass[:, :-1])
        removed, mass = (
            torch.cat([some, last[:, None]], dim=1)
            for some, last in ((found.removed, least.removed), (found.mass, least.mass))
        )
        return Flips(removed, mass), members, proved


def _slope(examination: Examination, decision: Int[Tensor, " batch"], *, folded: bool) -> Float[Tensor, "batch token"]:
    """∂ log(p/(1−p)) / ∂α_t of the decided class: ranks as ∂p/∂α_t does, and does not underflow.

    Folded, the bias belongs to the items, by their weight: Σ α_t slope_t is then the margin between the class and its
    rivals, not what the bias leaves of it.
    """
    reading = examination.reading
    with torch.enable_grad():
        weights = examination.weights.detach().requires_grad_()
        logits = reading.reread(weights[:, None])[:, 0].double()
        slope, pull = torch.autograd.grad(margin(logits, decision).sum(), (weights, logits))
    slope = slope.where(examination.mask, 0.0)
    if reading.token_logits is not None:
        # Per-token logits hold the bias.
        return slope if folded else slope - (pull * _bias(examination)).sum(-1, keepdim=True)
    rest = (pull * examination.logits).sum(-1) - (examination.weights * slope).sum(-1)
    return slope + rest[:, None] if folded else slope


def _bias(examination: Examination) -> Float[Tensor, "batch class"]:
    """The logits of no context at all: for an affine head, logits − W·c with c = Σ α_t h_t.

    They belong to the head, so one text of the batch tells them; of pairs every text, where the query may enter them.
    """
    reading, batch, subject = examination.reading, examination.batch, examination.subject
    if reading.token_logits is None:
        return reading.reread(torch.zeros_like(examination.weights)[:, None])[:, 0].double()
    longest = int(examination.lengths.argmax())
    some = batch[longest : longest + 1] if batch.second is None else batch
    with torch.enable_grad():
        embeddings = subject.embed(some).detach().requires_grad_()
        read = subject.read(some, embeddings=embeddings, detach_attention=True)
        # With α held fixed, Σ_t ∂/∂h_t is ∂/∂c, as Σ α_t = 1.
        rows = [torch.autograd.grad(one.sum(), read.states, retain_graph=True)[0].sum(1) for one in read.logits.T]
    context = (read.weights.double()[:, None] @ read.states.double()).detach()
    bias = read.logits.detach().double() - (torch.stack(rows, dim=1).double() * context).sum(-1)
    return bias.expand(len(batch), -1)


def _columns(flips: Flips, lengths: Int[Tensor, " batch"]) -> dict[str, Float[Tensor, "batch order"]]:
    """What the findings say of every order; the last one is the smallest set's."""
    tokens, flipped = lengths.clamp(min=1)[:, None], flips.removed > 0
    removed = flips.removed.double().where(flipped, torch.nan)
    counted, smallest = removed.where(flipped, tokens.double()), removed[:, -1:]
    return {
        "removed": removed,
        "flip_fraction": removed / tokens,
        "until_flip": counted / tokens,
        "never": (~flipped).double(),
        "mass": flips.mass.where(flipped, torch.nan),
        "times_smallest": removed / smallest,
        "times_smallest_counted": counted / smallest,
    }


def _items(
    members: Bool[Tensor, "batch token"], mask: Bool[Tensor, "batch token"], place: int, orders: int
) -> pa.Array:
    """The items of the smallest set, in its rows only; null where no set flips the decision."""
    sizes = np.zeros((orders, len(mask)), dtype=np.int32)
    sizes[place] = members.sum(-1).cpu().numpy()
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    flat = pa.array(ordinals(mask)[members].cpu().numpy(), pa.int32())
    return pa.ListArray.from_arrays(pa.array(offsets), flat, mask=pa.array(sizes.flatten() == 0))

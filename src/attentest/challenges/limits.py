"""Limits: the most and the least that erasing tokens was found to do to a prediction.

Comprehensiveness is high for a model that a missing word upsets and low for one that is sure of itself, whatever the
explainer; so scores of two models cannot be compared until each text's own limits are known (Edin et al. 2025). Texts
of a few tokens are enumerated, and their limits exact. For others a limit is the furthest that any order reached,
whether an explainer's, a searched or a random one: the true limit may lie further out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.measures.packing import positions

__all__ = ["Between", "Chance", "Limits", "enumerated_limits", "greedy_order", "ranked", "searched_orders"]

#: Up to this many tokens all 2^T sets are tried.
ENUMERATED = 6
#: Tokens of a text that are tried alone, to guide the search.
ALONE = 64
#: Limits closer than this leave nothing to normalise by.
NARROW = 1e-3

#: Sets of tokens that are left, to the probability of the predicted class.
Chance = Callable[[Bool[Tensor, "batch alternative token"]], Float[Tensor, "batch alternative"]]


def ranked(
    scores: Float[Tensor, "batch order token"],
    ties: Float[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
) -> Int[Tensor, "batch order token"]:
    """How many tokens come before each, highest score first, equal ones in the order of ``ties``; no tokens last."""
    first = ties.argsort(dim=-1, stable=True)[:, None].expand_as(scores)
    falling = scores.masked_fill(~mask[:, None], -math.inf).gather(-1, first)
    order = first.gather(-1, falling.argsort(dim=-1, descending=True, stable=True))
    here = torch.arange(scores.shape[-1], device=scores.device).expand_as(order)
    return torch.empty_like(order).scatter_(-1, order, here)


@dataclass(frozen=True)
class Between:
    """Drops of a probability, one for each order, beside chance and the least and the most found for the same text."""

    drops: Float[Tensor, "batch order"]
    random: Float[Tensor, " batch"]
    least: Float[Tensor, " batch"]
    most: Float[Tensor, " batch"]

    @classmethod
    def of(
        cls,
        whole: Float[Tensor, " batch"],
        curves: Float[Tensor, "batch order bin"],
        draws: int,
        exact: tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]],
    ) -> Between:
        """From the probability at every bin; the last ``draws`` orders are random.

        The limits are the exact ones where these are known (largest and smallest mean probability, else NaN), and
        otherwise the furthest that any of the orders reached.
        """
        drops = whole[:, None] - curves.mean(-1)
        reached = drops.aminmax(dim=-1)
        least, most = (
            torch.where(known.isnan(), value, whole - known) for known, value in zip(exact, reached, strict=True)
        )
        return cls(drops, drops[:, -draws:].mean(-1), least, most)

    def share(self, drop: Float[Tensor, " batch"]) -> Float[Tensor, " batch"]:
        """Where a drop lies: 0 at the least found, 1 at the most found; NaN where no order does anything."""
        room = self.most - self.least
        return torch.where(room > NARROW, (drop - self.least) / room, math.nan)


def searched_orders(
    chance: Chance,
    hints: Sequence[Float[Tensor, "batch token"]],
    mask: Bool[Tensor, "batch token"],
    sizes: Int[Tensor, "batch size"],
    candidates: int,
) -> Float[Tensor, "batch four token"]:
    """Four orders as scores: to lower and to raise the probability by removing tokens, and by keeping only them.

    Guides say where to look: hints, higher for what speaks for the class, and the prediction from a token by itself.
    """
    each = torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
    known = torch.stack([hint.where(mask, torch.nan) for hint in hints])
    spread = (known - known.nanmean(-1, keepdim=True)).abs().mean(0).nan_to_num(nan=-1.0)
    tried = spread.topk(min(ALONE, mask.shape[1])).indices
    alone = torch.full_like(spread, math.nan).scatter(-1, tried, chance(each[tried] & mask[:, None]))
    orders = []
    for remove in (True, False):
        for raising in (False, True):
            # What lowers the probability when it is gone raises it when it is there.
            sign = 1.0 if remove != raising else -1.0
            guides = tuple((sign * guide).nan_to_num(nan=-20.0) for guide in (*hints, alone))
            # Long texts that a missing token makes surer are dear to read, and what they add to the range is little.
            tries = 1 if remove and raising else candidates
            orders.append(greedy_order(chance, mask, sizes, guides, remove=remove, raising=raising, candidates=tries))
    return torch.stack(orders, dim=1)


def greedy_order(
    chance: Chance,
    mask: Bool[Tensor, "batch token"],
    sizes: Int[Tensor, "batch size"],
    guides: tuple[Float[Tensor, "batch token"], ...],
    *,
    remove: bool,
    raising: bool,
    candidates: int,
) -> Float[Tensor, "batch token"]:
    """Scores whose order moves the probability as far as a greedy search gets, by removing or by keeping tokens.

    A set grows from each size to the next by the tokens that, tried one by one, move the probability most. Tried are
    the ``candidates`` that each guide names, and as many of those that moved it most at the size before.
    """
    sign = 1.0 if raising else -1.0
    chosen, scores = torch.zeros_like(mask), torch.zeros_like(guides[0])
    hints, value, none = guides, guides[0], torch.zeros_like(guides[0])
    for step, size in enumerate(sizes.T):
        need, free = (size - chosen.sum(-1))[:, None], mask & ~chosen
        most = min(candidates, mask.shape[1])
        tried = torch.cat([hint.masked_fill(~free, -math.inf).topk(most).indices for hint in hints], dim=-1)
        sets = chosen[:, None].repeat(1, tried.shape[1], 1).scatter(-1, tried[..., None], True) & (need > 0)[..., None]
        moved = sign * chance(mask[:, None] & ~sets if remove else sets)
        # Every token that was tried comes before every other one; those keep the order of the first guide.
        fresh = (guides[0] - 10.0).scatter(-1, tried, moved.nan_to_num(nan=-20.0))
        value = torch.where(need > 0, fresh, value)
        hints = (*guides, value)
        new = free & (ranked(value.masked_fill(~free, -math.inf)[:, None], none, mask)[:, 0] < need)
        scores = torch.where(new, value - 100.0 * step, scores)
        chosen = chosen | new
    return torch.where(chosen, scores, value - 100.0 * sizes.shape[1])


class Limits(NamedTuple):
    """The largest and the smallest mean probability over nested sets: of texts without them, and of them alone."""

    without: tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]
    only: tuple[Float[Tensor, " batch"], Float[Tensor, " batch"]]


def enumerated_limits(chance: Chance, mask: Bool[Tensor, "batch token"], sizes: Int[Tensor, "batch size"]) -> Limits:
    """The exact limits of texts with two to ENUMERATED tokens, NaN for others.

    Over all chains of nested sets of the given sizes: the best chain that ends in a set goes through the best of its
    subsets of the size before.
    """
    lengths, device = mask.sum(-1), mask.device
    few = (lengths > 1) & (lengths <= ENUMERATED)
    bits = torch.arange(2**ENUMERATED, device=device)
    members = (bits[:, None] >> torch.arange(ENUMERATED, device=device)) % 2 == 1
    # A set that names more tokens than the text has is none of its sets.
    count = members.sum(-1).where(bits < 2 ** lengths.clamp(max=ENUMERATED)[:, None], -1)
    place = torch.nn.functional.pad(positions(mask), (0, ENUMERATED))[:, :ENUMERATED]
    named = members & (count >= 0)[..., None] & few[:, None, None]
    sets = torch.zeros(*named.shape[:2], mask.shape[1], dtype=torch.long, device=device)
    sets = sets.scatter_add(-1, place[:, None].expand_as(named), named.long()) > 0
    inside = (bits[:, None] & bits) == bits
    ends = []
    for left in (mask[:, None] & ~sets, sets):
        value = chance(left) if few.any() else torch.full(left.shape[:2], math.nan, dtype=torch.float64, device=device)
        most, least = (sign * _best_chain(sign * value, count, sizes, inside) for sign in (1.0, -1.0))
        ends.append((most.where(few, math.nan), least.where(few, math.nan)))
    return Limits(*ends)


def _best_chain(
    value: Float[Tensor, "batch set"],
    count: Int[Tensor, "batch set"],
    sizes: Int[Tensor, "batch size"],
    inside: Bool[Tensor, "set set"],
) -> Float[Tensor, " batch"]:
    """The largest mean of values along nested sets of these sizes; ``inside[a, b]``: b is a subset of a."""
    best = value.masked_fill(count != sizes[:, :1], -math.inf)
    for _, size in pairwise(sizes.T):
        through = torch.where(inside, best[:, None, :], -math.inf).amax(-1)
        best = (through + value).masked_fill(count != size[:, None], -math.inf)
    return best.amax(-1) / sizes.shape[1]

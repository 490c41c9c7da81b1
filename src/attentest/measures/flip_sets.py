"""Removing weights until the decision flips: how many an order takes, and the fewest there can be.

Removed weights are zeroed and the others scaled up to sum to one (Serrano & Smith 2019). Where logits are Σ α_t z_t,
scaling changes no sign: a rival class c beats the decision ŷ once Σ α_t (z_tŷ − z_tc) over the items that are left is
below zero. So every order is one cumulative sum, and removing what supports ŷ against c most is the fastest way to c:
the best rival gives the smallest set there is, with proof. Where the head is not affine, every set is reread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

__all__ = [
    "Flips",
    "fewest",
    "first_flips",
    "first_flips_by_rereading",
    "removal_orders",
    "smallest_flips",
    "turns",
]

#: A rival that leads by less than this share of what is added up is level with the decision: sums are rounded.
LEVEL = 1e-12
#: Numbers that one step may hold.
CELLS = 2_000_000

#: Alternative weights to logits.
Reread = Callable[[Float[Tensor, "batch alternative token"]], Float[Tensor, "batch alternative class"]]


@dataclass(frozen=True)
class Flips:
    """How many items are gone when the decision first flips, and their weight; zero where it never does."""

    removed: Int[Tensor, "*shape"]
    mass: Float[Tensor, "*shape"]


def turns(logits: Float[Tensor, "*shape class"], decision: Int[Tensor, "*#shape"]) -> Bool[Tensor, "*shape"]:
    """Whether some rival class is strictly above the decision; a tie keeps it."""
    place = decision.expand(logits.shape[:-1])[..., None]
    own = logits.gather(-1, place)[..., 0]
    rival = logits.scatter(-1, place, -torch.inf).amax(-1)
    return rival - own > LEVEL * torch.maximum(own.abs(), rival.abs())


def removal_orders(
    scores: Float[Tensor, "batch order token"],
    weights: Float[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
) -> Int[Tensor, "batch order token"]:
    """Positions, highest score first, equal ones from left to right; items without weight, removed already, last."""
    there = mask & (weights > 0)
    return scores.double().masked_fill(~there[:, None], -torch.inf).argsort(dim=-1, descending=True, stable=True)


def first_flips(
    weights: Float[Tensor, "batch token"],
    token_logits: Float[Tensor, "batch token class"],
    mask: Bool[Tensor, "batch token"],
    decision: Int[Tensor, " batch"],
    orders: Int[Tensor, "batch order token"],
) -> Flips:
    """When the decision first flips as items are removed in these orders, from per-token logits."""
    weights = weights.double().where(mask, 0.0)
    held = _supports(weights, token_logits, decision)[:, None]
    parts = []
    for some in orders.split(max(1, CELLS // max(1, held.numel())), dim=1):
        place = some[..., None].expand(-1, -1, -1, held.shape[-1])
        left = _left(held.expand(-1, some.shape[1], -1, -1).gather(2, place), 2)
        parts.append(_first((left < 0).any(-1)))
    removed = torch.cat(parts, dim=1)
    return Flips(removed, _mass(weights, orders, removed))


def smallest_flips(
    weights: Float[Tensor, "batch token"],
    token_logits: Float[Tensor, "batch token class"],
    mask: Bool[Tensor, "batch token"],
    decision: Int[Tensor, " batch"],
) -> tuple[Flips, Bool[Tensor, "batch token"]]:
    """The smallest set whose removal flips the decision, proved: no set with fewer items does."""
    weights = weights.double().where(mask, 0.0)
    held = _supports(weights, token_logits, decision).transpose(1, 2)
    falling, orders = held.sort(dim=-1, descending=True, stable=True)
    removed = _first(_left(falling, 2) < 0)
    return fewest(Flips(removed, _mass(weights, orders, removed)), orders)


def first_flips_by_rereading(
    weights: Float[Tensor, "batch token"],
    mask: Bool[Tensor, "batch token"],
    decision: Int[Tensor, " batch"],
    orders: Int[Tensor, "batch order token"],
    reread: Reread,
) -> Flips:
    """The same for any head: every set along an order is reread, all orders side by side, until all have flipped."""
    weights = weights.double().where(mask, 0.0)
    here = torch.arange(orders.shape[-1], device=orders.device).expand_as(orders)
    rank = torch.empty_like(orders).scatter_(-1, orders, here)
    removed = torch.zeros_like(orders[..., 0])
    items, step = int((weights > 0).sum(-1).max()), max(1, CELLS // max(1, orders.numel()))
    for start in range(1, items, step):
        sizes = torch.arange(start, min(start + step, items), device=orders.device)
        left = weights[:, None, None] * (rank[:, :, None] >= sizes[:, None])
        total = left.sum(-1, keepdim=True)
        logits = reread((left / total.clamp(min=1e-300)).flatten(1, 2)).double().unflatten(1, left.shape[1:3])
        turned = turns(logits, decision[:, None, None]) & (total[..., 0] > 0)
        removed = torch.where((removed == 0) & turned.any(-1), sizes[turned.int().argmax(-1)], removed)
        if (removed > 0).all():
            break
    return Flips(removed, _mass(weights, orders, removed))


def fewest(flips: Flips, orders: Int[Tensor, "batch order token"]) -> tuple[Flips, Bool[Tensor, "batch token"]]:
    """Of several orders the one that flips first, and which items it removes until then (none where none flips)."""
    never = torch.iinfo(flips.removed.dtype).max
    best = flips.removed.masked_fill(flips.removed == 0, never).argmin(-1, keepdim=True)
    removed, mass = flips.removed.gather(-1, best), flips.mass.gather(-1, best)[:, 0]
    order = orders.gather(1, best[..., None].expand(-1, -1, orders.shape[-1]))[:, 0]
    gone = torch.arange(order.shape[-1], device=order.device) < removed
    return Flips(removed[:, 0], mass), torch.zeros_like(gone).scatter(-1, order, gone)


def _supports(
    weights: Float[Tensor, "batch token"], token_logits: Float[Tensor, "batch token class"], decision: Tensor
) -> Float[Tensor, "batch token rival"]:
    """α_t (z_tŷ − z_tc) for every rival class c, with ŷ ahead by the little that makes it win ties."""
    z = token_logits.double()
    rivals = torch.arange(z.shape[-1] - 1, device=z.device).expand(len(z), -1)
    rivals = rivals + (rivals >= decision[:, None])
    own, other = (z.gather(-1, chosen[:, None].expand(-1, z.shape[1], -1)) for chosen in (decision[:, None], rivals))
    # Beyond the mask the logits may be anything, also not a number.
    held = torch.where(weights[..., None] > 0, weights[..., None] * (own - other), 0.0)
    return held + LEVEL * held.abs()


def _left(values: Float[Tensor, "*shape"], dim: int) -> Float[Tensor, "*shape"]:
    """What is left when 0, 1, 2, … items are gone, added up from the end: differences of totals would drift."""
    return values.flip(dim).cumsum(dim).flip(dim)


def _first(turned: Bool[Tensor, "*shape size"]) -> Int[Tensor, "*shape"]:
    """How many items are gone at the first flip, from flags for 0, 1, 2, … items; 0 where there is none."""
    turned[..., 0] = False
    return turned.int().argmax(-1)


def _mass(
    weights: Float[Tensor, "batch token"], orders: Int[Tensor, "batch order token"], removed: Int[Tensor, "batch order"]
) -> Float[Tensor, "batch order"]:
    """The weight of the first items of an order."""
    falling = weights[:, None].expand(-1, orders.shape[1], -1).gather(-1, orders).cumsum(-1)
    return torch.nn.functional.pad(falling, (1, 0)).gather(-1, removed[..., None])[..., 0]

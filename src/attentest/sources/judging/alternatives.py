"""Would other weights have done? What the answer's tokens give to the sources is handed out otherwise.

How much they attend to sources altogether stays as it is, at every layer, head and token; only who gets it changes:
every token alike (uniform), each source what another one had (permuted), or one source all of it (single). If the
answer stays as probable under weights far from the model's own, its attention did not decide where it came from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from attentest.models.huggingface.attending import Edit
from attentest.sources.case import Case

__all__ = ["DRAWS", "FAR", "STAYS", "Alternatives", "ask_alternatives"]

#: Permutations of every question.
DRAWS = 4
#: The answer stays where its log-probability moves by less than this; weights are far where so much of what the sources
#: get goes elsewhere (total variation distance).
STAYS, FAR = 0.5, 0.5

#: Masses of items, to the masses that they are given instead.
Handing = Callable[[Float[Tensor, "... item"]], Float[Tensor, "... item"]]


@dataclass(frozen=True)
class Alternatives:
    """What other weights do to one answer: by how much its log-probability falls."""

    #: Every item's share of what all items get, averaged over layers, heads and tokens.
    shares: list[float]
    uniform: float
    #: Who got whose weight, and the fall, for every draw.
    orders: list[list[int]]
    permuted: list[float]
    #: The fall where all goes to one item, for each.
    single: list[float]

    def farthest(self, stays: float = STAYS) -> float:
        """How far the farthest weights lie under which the answer stays; of those that were tried, so at least that."""
        own = np.array(self.shares)
        tried = [
            *((np.eye(len(own))[item], fall) for item, fall in enumerate(self.single)),
            *((own[order], fall) for order, fall in zip(self.orders, self.permuted, strict=True)),
        ]
        return max((float(np.abs(own - other).sum() / 2) for other, fall in tried if abs(fall) < stays), default=0.0)


def ask_alternatives(case: Case, *, first: int = 1, last: int = 0, draws: int = DRAWS, seed: int = 0) -> Alternatives:
    """Hand the weights out otherwise, in these layers (from 1; 0: to the last one)."""
    layers, items = len(case.model.places), len(case.items)
    chosen = range(first - 1, last or layers)
    summed = case.attended.summed[list(chosen)]
    shares = summed.sum((0, 1)) / max(float(summed.sum()), np.finfo(float).tiny)
    digest = hashlib.blake2b(f"{seed}/{case.question.id}/alternatives".encode(), digest_size=8).digest()
    draw = np.random.default_rng(int.from_bytes(digest))
    orders = [draw.permutation(items) for _ in range(draws)]
    belongs = torch.zeros(len(case.prompt.ids), items)
    for item in range(items):
        belongs[case.prompt.tokens_of(item), item] = 1

    def fall(handing: Handing | None) -> float:
        edits = dict.fromkeys(chosen, _handed(belongs, handing))
        found = case.model.log_probabilities([case.prompt.ids], case.answer.ids, prefix=case.prefix, edits=edits)
        return case.whole - float(case.answer.summed(found.numpy()[0]))

    return Alternatives(
        [float(share) for share in shares],
        fall(None),
        [order.tolist() for order in orders],
        [fall(_permuted(order.tolist())) for order in orders],
        [fall(_single(item)) for item in range(items)],
    )


def _permuted(order: list[int]) -> Handing:
    return lambda masses: masses[..., torch.tensor(order, device=masses.device)]


def _single(item: int) -> Handing:
    return lambda masses: (
        torch.nn.functional.one_hot(torch.tensor(item, device=masses.device), masses.shape[-1])
        * masses.sum(-1, keepdim=True)
    )


def _handed(belongs: Float[Tensor, "token item"], handing: Handing | None) -> Edit:
    """Weights on items by another hand; within an item as they were. Without one: every token of an item alike."""

    def edit(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        of = torch.zeros(weights.shape[-1], belongs.shape[1], device=weights.device)
        of[: len(belongs)] = belongs.to(weights.device)
        sizes = of.sum(0)
        exact = weights.float()
        masses = exact @ of
        if handing is None:
            within = of / sizes.clamp(min=1)
            new = (masses.sum(-1, keepdim=True) * sizes / sizes.sum()) @ within.T
        else:
            new = exact * ((handing(masses) / masses.clamp(min=torch.finfo(torch.float32).tiny)) @ of.T)
        return torch.where(of.sum(-1) > 0, new, exact).to(weights.dtype), values

    return edit

"""What happens when the answer may not attend to an item, in all layers or in some; the text stays as it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from attentest.errors import InputError
from attentest.models.huggingface.attending import Edit
from attentest.sources.case import Case
from attentest.sources.language import Cost
from attentest.sources.methods.method import Method, Scored

__all__ = ["Knockout"]


@dataclass(frozen=True)
class Knockout(Method):
    """By how much the log-probability falls when attention to an item is cut (Geva et al. 2023).

    ``rows``: only the answer's own tokens no longer see the item (``answer``), or nothing behind the item does
    (``after``). ``first`` and ``last`` are the layers where it is cut, from 1; 0 is the last of all.
    """

    name: ClassVar[str] = "knockout"
    summary: ClassVar[str] = "the fall of the answer's log-probability when attention to the item is cut"
    reference: ClassVar[str] = "Geva et al. 2023"
    rows: str = "answer"
    first: int = 1
    last: int = 0

    def __post_init__(self) -> None:
        if self.rows not in ("answer", "after"):
            raise InputError(f"knockout: rows={self.rows!r} must be 'answer' or 'after'.")
        if self.first < 1 or (self.last and self.last < self.first):
            raise InputError(f"knockout: layers {self.first} to {self.last} are none: they count from 1.")

    def score(self, case: Case) -> Scored:
        """A pass for each item; what lies before the first cut is shared."""
        layers = len(case.model.places)
        if max(self.first, self.last) > layers:
            raise InputError(f"knockout: layer {max(self.first, self.last)}, and the model has {layers}.")
        prefix, before = case.prefix, (case.model.cost.tokens, case.model.cost.seconds)
        found = []
        for item in range(len(case.items)):
            own = case.prompt.tokens_of(item)
            start = len(case.prompt.ids) - 1 if self.rows == "answer" else int(own.max()) + 1
            edit = _cut(torch.tensor(own), start)
            edits = dict.fromkeys(range(self.first - 1, self.last or layers), edit)
            shared = type(prefix)(prefix.ids[:start], prefix.layers)
            values = case.model.log_probabilities([case.prompt.ids], case.answer.ids, prefix=shared, edits=edits)
            found.append(float(case.answer.summed(values.numpy()[0])))
        tokens, seconds = case.model.cost.tokens - before[0], case.model.cost.seconds - before[1]
        return Scored(case.whole - np.array(found), Cost(len(found), tokens, seconds))


def _cut(keys: Tensor, start: int) -> Edit:
    """Positions from ``start`` on give nothing to these keys, and more to all others."""

    def cut(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        there = weights.shape[-1]
        rows = torch.arange(there - weights.shape[-2], there, device=weights.device) >= start
        left = torch.ones(weights.shape[-2:], device=weights.device, dtype=weights.dtype)
        left[:, keys[keys < there].to(weights.device)] = (~rows).to(weights.dtype)[:, None]
        kept = weights * left
        return kept / kept.sum(-1, keepdim=True).clamp(min=torch.finfo(kept.dtype).tiny), values

    return cut

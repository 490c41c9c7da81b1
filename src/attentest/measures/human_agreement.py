"""How far people who marked the same text agree: the ceiling of what scores can be expected to agree with them."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from attentest.measures.plausibility import as_many_as_marked, token_overlap

__all__ = ["Agreed", "Annotations", "between_people", "one_against_the_others", "with_each_person"]


class Annotations(NamedTuple):
    """Every person's marks on every token; texts have different numbers of people, and rows without one fill up."""

    flags: Bool[Tensor, "batch person token"]
    #: Whether there is such a person: one who marked nothing is there, too, and is not compared with anything.
    there: Bool[Tensor, "batch person"]


class Agreed(NamedTuple):
    """Token F1 and intersection over union, mean over a text's comparisons; NaN where it has none."""

    token_f1: Float[Tensor, " batch"]
    iou: Float[Tensor, " batch"]


def between_people(annotations: Annotations) -> Agreed:
    """One person against another, mean over pairs of people who both marked something."""
    flags = annotations.flags.double()
    both, sizes = flags @ flags.mT, flags.sum(-1)
    total = sizes[:, :, None] + sizes[:, None, :]
    marking = annotations.there & annotations.flags.any(-1)
    pair = (marking[:, :, None] & marking[:, None, :]).triu(diagonal=1).flatten(1)
    return Agreed(*(_mean(values.flatten(1), pair) for values in (2 * both / total, both / (total - both))))


def one_against_the_others(annotations: Annotations) -> Agreed:
    """Each of three or more people who marked something against what most of the others marked, where that is any."""
    flags, there = annotations
    others = flags.sum(1, keepdim=True) - flags.long()
    people = there.sum(-1) - 1
    most = others * 2 > people[:, None, None]
    compared = there & flags.any(-1) & (people >= 2)[:, None] & most.any(-1)
    return _over_people(flags, most, compared)


def with_each_person(
    scores: Float[Tensor, "batch token"], annotations: Annotations, mask: Bool[Tensor, "batch token"]
) -> Agreed:
    """The top tokens, as many as a person marked, against that person's marks; mean over those who marked any."""
    flags, there = annotations
    every = scores[:, None].expand(flags.shape).flatten(0, 1)
    chosen = as_many_as_marked(every, flags.flatten(0, 1), mask[:, None].expand(flags.shape).flatten(0, 1))
    return _over_people(chosen.view(flags.shape), flags, there & flags.any(-1))


def _over_people(
    chosen: Bool[Tensor, "batch person token"],
    marked: Bool[Tensor, "batch person token"],
    compared: Bool[Tensor, "batch person"],
) -> Agreed:
    values = token_overlap(chosen.flatten(0, 1), marked.flatten(0, 1))
    return Agreed(*(_mean(one.view(compared.shape), compared) for one in values))


def _mean(values: Float[Tensor, "batch case"], counted: Bool[Tensor, "batch case"]) -> Float[Tensor, " batch"]:
    return torch.where(counted, values, 0.0).sum(-1) / counted.sum(-1)

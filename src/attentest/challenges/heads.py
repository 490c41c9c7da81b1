"""Heads: which heads does the prediction need, and how much of their attention lies on no word?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import torch
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.errors import InputError
from attentest.measures.divergence import total_variation
from attentest.models.pretrained.attending import Edit
from attentest.models.pretrained.pretrained import Pretrained
from attentest.models.pretrained.replacing import REPLACEMENTS, replacing
from attentest.models.subject import Subject
from attentest.store.findings import Measure

__all__ = ["Heads"]


@dataclass(frozen=True)
class Heads(Challenge):
    """Every head of every layer by itself: its attention is replaced in all rows, the other heads keep theirs.

    A head whose attention lies on special tokens is a sink: it weighs no word, whatever its weights look like.
    """

    name: ClassVar[str] = "heads"
    question: ClassVar[str] = "Does the prediction change when one head's attention is replaced?"
    reference: ClassVar[str] = "Michel et al. 2019; Voita et al. 2019; Xiao et al. 2024 (sinks)"
    replacement: str = "uniform"

    def __post_init__(self) -> None:
        if self.replacement not in REPLACEMENTS:
            raise InputError(f"heads: replacement={self.replacement!r} must be one of {', '.join(REPLACEMENTS)}.")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Over all heads; which of them matter is in the findings."""
        return (
            Measure("change", "change", "mean", "change of ŷ (TVD) when one head's attention is replaced"),
            Measure("flipped", "flipped", "fraction", "share of decisions that one head's attention decides"),
            Measure("on_no_word", "on_no_word", "mean", "share of a head's attention on special tokens (sinks)"),
        )

    def objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Needs heads."""
        return None if isinstance(subject, Pretrained) else "the model has no heads, as transformers have"

    def examine(self, examination: Examination) -> pa.Table:
        """One pass for every head, layers below it passed over."""
        subject = examination.subject
        assert isinstance(subject, Pretrained)
        batch, places = examination.batch, subject.places.places
        sinks: dict[int, Tensor] = {}
        below = subject.layers(
            batch, {place: _sink(sinks, place, subject, examination) for place in range(len(places))}
        )
        tables = []
        for number, place in enumerate(places):
            known = {layer: output for layer, output in below.items() if layer < place.layer}
            whole = replacing(self.replacement, number, batch.keys, examination.seed, "heads")
            for head in range(place.heads):
                logits = subject.logits(batch, {number: _only(whole, head)}, known).double()
                about = (place.kind or "self", place.number, head + 1)
                tables.append(_rows(examination, about, logits, sinks[number][:, head]))
        return pa.concat_tables(tables)


def _sink(found: dict[int, Tensor], place: int, subject: Pretrained, examination: Examination) -> Edit:
    """Notes how much of every head's attention lies on slots of no word, mean over real rows; changes nothing."""
    layout = subject.pieces.layout(examination.batch)

    def note(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        of_slots = weights.shape[-1] == layout.mask.shape[1]
        frame = (layout.owner < 0).to(weights.dtype) if of_slots else weights.new_ones(len(weights), weights.shape[-1])
        rows = layout.mask if weights.shape[2] == layout.mask.shape[1] else torch.ones_like(weights[:, 0, :, 0]).bool()
        on_frame = (weights * frame[:, None, None]).sum(-1)
        found[place] = (on_frame * rows[:, None]).sum(-1) / rows.sum(-1, keepdim=True).clamp(min=1)
        return weights, values

    return note


def _only(edit: Edit, head: int) -> Edit:
    """The edit for one head, the others left as they are."""

    def one(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        new, _ = edit(weights, values, allowed)
        chosen = torch.arange(weights.shape[1], device=weights.device) == head
        return torch.where(chosen[None, :, None, None], new, weights), values

    return one


def _rows(examination: Examination, about: tuple[str, int, int], logits: Tensor, sink: Tensor) -> pa.Table:
    own, judged, size = examination.reading.predicted, ~examination.single, len(logits)
    change = total_variation(logits.softmax(-1), examination.reading.logits.double().softmax(-1))
    kind, layer, head = about
    return pa.table(
        {
            "row": examination.rows,
            "attention": pa.array([kind] * size, pa.string()),
            "layer": pa.array([layer] * size, pa.int32()),
            "head": pa.array([head] * size, pa.int32()),
            "change": numbers(change, judged),
            "flipped": flags(logits.argmax(-1) != own, judged),
            "on_no_word": numbers(sink, judged),
            "not_judged": reasons((examination.single, "fewer than two tokens")),
        }
    )

"""Heads: which heads does the prediction need, and how much of their attention lies on no word?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.challenges.layers.examine import KINDS, ONE_KEY, of_kinds
from attentest.errors import InputError
from attentest.measures.divergence import total_variation
from attentest.models.capabilities import required
from attentest.models.huggingface.attending import Edit
from attentest.models.huggingface.partial_forward.edits import replacing
from attentest.models.huggingface.pieces import Layout
from attentest.models.huggingface.pretrained import Pretrained
from attentest.models.replaced import REPLACEMENTS, Replacement
from attentest.models.subject import Subject
from attentest.store.findings import Measure, Statistic

__all__ = ["Heads"]


@dataclass(frozen=True)
class Heads(Challenge):
    """Every head of every layer by itself: its attention is replaced in all rows, the other heads keep theirs.

    For transformers. Each head of each layer by itself: its attention is replaced and the prediction computed
    again. Beside it stands how much of the head's attention lies on special tokens: such a head is a sink, and
    weighs no word. What lies on a prompt or a second text is counted apart, and an encoder's heads apart from those
    between encoder and decoder. One pass for every head, so many times the cost of reading. Not part of an audit
    unless asked for: `--challenge heads`.
    """

    name: ClassVar[str] = "heads"
    question: ClassVar[str] = "Does the prediction change when one head's attention is replaced?"
    reference: ClassVar[str] = "Michel et al. 2019; Voita et al. 2019; Xiao et al. 2024 (sinks)"
    needs: ClassVar[tuple[type, ...]] = (Pretrained,)
    replacement: Annotated[
        str, "`uniform`: even weights; `permutation`: each row's weights shuffled; `random`: drawn anew."
    ] = "uniform"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.replacement not in REPLACEMENTS:
            raise InputError(f"heads: replacement={self.replacement!r} must be one of {', '.join(REPLACEMENTS)}.")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Over all heads of a kind of attention; which of them matter is in the findings."""
        return tuple(self._measures())

    def _measures(self) -> Iterator[Measure]:
        for kind in KINDS:
            before, of = ("", "") if kind == "self" else (f"{kind}.", f"{kind}: ")
            each: tuple[tuple[str, Statistic, str], ...] = (
                ("change", "mean", "change of ŷ (TVD) when one head's attention is replaced"),
                ("flipped", "fraction", "share of decisions that one head's attention decides"),
                ("on_no_word", "share", "share of a head's attention on special tokens (sinks)"),
                ("on_other_text", "share", "share of a head's attention on the prompt and the second text"),
            )
            for name, statistic, words in each:
                where = {"attention": kind}
                yield Measure(f"{before}{name}", name, statistic, f"{of}{words}", where, together="id")

    def measures_of(self, subject: Subject) -> tuple[Measure, ...]:
        """Those of the kinds of attention that the model has."""
        return of_kinds(self.measures, subject)

    def examine(self, examination: Examination) -> pa.Table:
        """One pass for every head, layers below it passed over."""
        subject = required(Pretrained, examination.subject, self.name)
        batch, places, layout = examination.batch, subject.places.places, subject.pieces.layout(examination.batch)
        off: dict[int, tuple[Tensor, Tensor]] = {}
        seen = [number for number, place in enumerate(places) if place.kind != "decoder"]
        below = subject.layers(batch, {number: _off_words(off, number, layout) for number in seen})
        tables = []
        for number, place in enumerate(places):
            known = {layer: output for layer, output in below.items() if layer < place.layer}
            whole = replacing(Replacement(self.replacement, examination.seed, "heads"), number, batch.keys)
            for head in range(place.heads):
                about = (place.kind or "self", place.number, head + 1)
                if number not in off:
                    tables.append(_rows(examination, about, None))
                    continue
                logits = subject.logits(batch, {number: _only(whole, head)}, known).double()
                special, other = (part[:, head] for part in off[number])
                tables.append(_rows(examination, about, (logits, special, other)))
        return pa.concat_tables(tables)


def _off_words(found: dict[int, tuple[Tensor, Tensor]], place: int, layout: Layout) -> Edit:
    """Notes how much of every head's attention lies on special tokens and on other texts, mean over real rows."""

    def note(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        rows = layout.mask if weights.shape[2] == layout.mask.shape[1] else torch.ones_like(weights[:, 0, :, 0]).bool()
        share = rows.to(weights.dtype) / rows.sum(-1, keepdim=True).clamp(min=1)
        mean = (share[:, None, None] @ weights)[:, :, 0]
        special, other = (mean.where(part[:, None], 0.0).sum(-1) for part in (layout.special, layout.other))
        found[place] = special, other
        return weights, values

    return note


def _only(edit: Edit, head: int) -> Edit:
    """The edit for one head, the others left as they are."""

    def one(weights: Tensor, values: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
        new, _ = edit(weights, values, allowed)
        chosen = torch.arange(weights.shape[1], device=weights.device) == head
        return torch.where(chosen[None, :, None, None], new, weights), values

    return one


def _rows(
    examination: Examination, about: tuple[str, int, int], found: tuple[Tensor, Tensor, Tensor] | None
) -> pa.Table:
    own, size, (kind, layer, head) = examination.reading.logits.double(), len(examination.batch), about
    one_key = np.full(size, found is None)
    judged = ~(examination.single | one_key)
    logits, special, other = (own, own[:, 0], own[:, 0]) if found is None else found
    return pa.table(
        {
            "row": examination.rows,
            "attention": pa.array([kind] * size, pa.string()),
            "layer": pa.array([layer] * size, pa.int32()),
            "head": pa.array([head] * size, pa.int32()),
            "change": numbers(total_variation(logits.softmax(-1), own.softmax(-1)), judged),
            "flipped": flags(logits.argmax(-1) != own.argmax(-1), judged),
            "on_no_word": numbers(special, judged),
            "on_other_text": numbers(other, judged),
            "not_judged": reasons((examination.single, "fewer than two tokens"), (one_key, ONE_KEY)),
        }
    )

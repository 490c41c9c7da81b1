"""Layers: what is left of a prediction when the attention of more and more layers is replaced?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.errors import InputError
from attentest.measures.divergence import total_variation
from attentest.models.pretrained.pretrained import Pretrained
from attentest.models.pretrained.replacing import REPLACEMENTS, replacing
from attentest.models.subject import Subject
from attentest.store.findings import Measure

__all__ = ["KINDS", "OF_CHECKPOINTS", "ONE_KEY", "Layers", "of_kinds"]

#: The kinds of attention that are measured, each by itself. A decoder's own is not: it begins with one word, one key.
KINDS = ("self", "encoder", "cross")
ONE_KEY = "one key"
OF_CHECKPOINTS = "this is for checkpoints of the Transformers library, not for others, such as translators trained here"
#: The names of the sets of layers that are the same in every model.
ENDS = ("first 1", "last 1", "all")


@dataclass(frozen=True)
class Layers(Challenge):
    """The attention of every head is replaced in the first 1, 2, … layers, and in the last 1, 2, …, up to all.

    An encoder's, a decoder's and the attention between them are replaced separately.
    """

    name: ClassVar[str] = "layers"
    question: ClassVar[str] = "Does the prediction change when the attention of more and more layers is replaced?"
    reference: ClassVar[str] = "Vashishth et al. 2019, section 4.3 and Figure 4"
    replacement: str = "permutation"
    #: How often weights are drawn for each text; even weights are drawn once.
    draws: int = 1

    def __post_init__(self) -> None:
        if self.replacement not in REPLACEMENTS:
            raise InputError(f"layers: replacement={self.replacement!r} must be one of {', '.join(REPLACEMENTS)}.")
        if self.draws < 1:
            raise InputError(f"layers: draws={self.draws} must be at least 1.")

    @property
    def measures(self) -> tuple[Measure, ...]:
        """For one layer at either end, and for all of them; kinds of attention are never pooled."""
        return tuple(self._measures())

    def _measures(self) -> Iterator[Measure]:
        for kind in KINDS:
            before = "" if kind == "self" else f"{kind}."
            of = "" if kind == "self" else f"{kind}: "
            own = f"{of}share of correct predictions, own attention"
            for ends in ENDS:
                where = {"attention": kind, "replaced": ends}
                said = "of all layers" if ends == "all" else f"of the {ends.split()[0]} layer"
                for name, column, words in (
                    ("change", "change", f"change of ŷ (TVD), attention {said}"),
                    ("flips", "flips", "share of decisions that turn"),
                    ("accuracy", "correct_after", "share of correct predictions"),
                ):
                    told = f"{of}{ends}: {words}"
                    yield Measure(f"{before}{ends}.{name}", column, "mean", told, where, together="id")
            every = {"attention": kind, "replaced": "all"}
            yield Measure(f"{before}accuracy", "correct", "fraction", own, every, together="id")

    def measures_of(self, subject: Subject) -> tuple[Measure, ...]:
        """Those of the kinds of attention that the model has."""
        return of_kinds(self.measures, subject)

    def objection(self, subject: Subject, *, has_rationale: bool) -> str | None:
        """Needs layers."""
        return None if isinstance(subject, Pretrained) else OF_CHECKPOINTS

    def examine(self, examination: Examination) -> pa.Table:
        """One pass for every set of layers and draw."""
        subject = examination.subject
        assert isinstance(subject, Pretrained)
        tables = []
        for kind in subject.places.kinds:
            own = [number for number, place in enumerate(subject.places.places) if place.kind == kind]
            for count in range(1, len(own) + 1):
                for direction in ("first", "last"):
                    chosen = own[:count] if direction == "first" else own[-count:]
                    every = count == len(own)
                    if every and direction == "last":
                        continue
                    name = "all" if every else f"{direction} {count}"
                    found = None if kind == "decoder" else self._replaced(examination, subject, chosen)
                    tables.append(self._rows(examination, kind, name, direction, count, found))
        return pa.concat_tables(tables)

    def _replaced(self, examination: Examination, subject: Pretrained, places: list[int]) -> Tensor:
        """The logits [batch, draw, class] with these attentions replaced."""
        keys, drawn = examination.batch.keys, 1 if self.replacement == "uniform" else self.draws
        parts = []
        for draw in range(drawn):
            stream = f"layers/{draw}"
            edits = {place: replacing(self.replacement, place, keys, examination.seed, stream) for place in places}
            parts.append(subject.logits(examination.batch, edits).double())
        return torch.stack(parts, dim=1)

    def _rows(
        self, examination: Examination, kind: str, name: str, direction: str, count: int, found: Tensor | None
    ) -> pa.Table:
        labels, own, size = examination.batch.labels, examination.reading.predicted, len(examination.batch)
        one_key = np.full(size, found is None)
        judged = ~(examination.single | one_key)
        logits = examination.reading.logits.double()
        after = logits[:, None] if found is None else found
        decided = after.argmax(-1)
        change = total_variation(after.softmax(-1), logits.softmax(-1)[:, None])
        return pa.table(
            {
                "row": examination.rows,
                "attention": pa.array([kind or "self"] * size, pa.string()),
                "replaced": pa.array([name] * size, pa.string()),
                "direction": pa.array([direction] * size, pa.string()),
                "layers": pa.array([count] * size, pa.int32()),
                "label": pa.array(labels.cpu().numpy(), pa.int32()),
                "change": numbers(change.mean(-1), judged),
                "flips": numbers((decided != own[:, None]).double().mean(-1), judged),
                "correct": flags(own == labels, judged),
                "correct_after": numbers((decided == labels[:, None]).double().mean(-1), judged),
                "not_judged": reasons((examination.single, "fewer than two tokens"), (one_key, ONE_KEY)),
            }
        )


def of_kinds(measures: tuple[Measure, ...], subject: Subject) -> tuple[Measure, ...]:
    """The measures of those kinds of attention that a model has."""
    assert isinstance(subject, Pretrained)
    kinds = {kind or "self" for kind in subject.places.kinds}
    return tuple(measure for measure in measures if measure.where["attention"] in kinds)

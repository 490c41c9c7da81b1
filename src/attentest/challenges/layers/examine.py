"""Layers: what is left of a prediction when the attention of more and more layers is replaced?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.errors import InputError
from attentest.measures.divergence import total_variation
from attentest.models.capabilities import Layered, required
from attentest.models.replaced import REPLACEMENTS, Replacement
from attentest.models.subject import Subject
from attentest.parameters import Within
from attentest.store.findings import Measure, Statistic

__all__ = ["ENDS", "KINDS", "ONE_KEY", "LayerSet", "Layers", "of_kinds", "sets_of"]

#: The kinds of attention that are measured, each by itself.
KINDS = ("self", "encoder", "decoder", "cross")
ONE_KEY = "one key"
#: The names of the sets of layers that are the same in every model.
ENDS = ("first 1", "last 1", "all")


@dataclass(frozen=True)
class LayerSet:
    """Layers of one kind of attention, counted from the first or from the last."""

    kind: str
    direction: str
    count: int
    #: Their numbers among the subject's attentions.
    places: tuple[int, ...]
    every: bool
    one_key: bool

    @property
    def name(self) -> str:
        """As in ``first 2``, or ``all``."""
        return "all" if self.every else f"{self.direction} {self.count}"


def sets_of(subject: Subject) -> Iterator[LayerSet]:
    """The first 1, 2, … layers of each kind and the last 1, 2, …, and all of them once."""
    places = required(Layered, subject, "layers").attention_places
    for kind in dict.fromkeys(place.kind for place in places):
        own = [number for number, place in enumerate(places) if place.kind == kind]
        one_key = all(places[number].one_key for number in own)
        for count in range(1, len(own)):
            yield LayerSet(kind, "first", count, tuple(own[:count]), False, one_key)
            yield LayerSet(kind, "last", count, tuple(own[-count:]), False, one_key)
        yield LayerSet(kind, "first", len(own), tuple(own), True, one_key)


@dataclass(frozen=True)
class Layers(Challenge):
    """The attention of every head is replaced in the first 1, 2, … layers, and in the last 1, 2, …, up to all.

    For transformers: checkpoints, and translators with `--decoder transformer`. The attention of every head is
    replaced in the first layer, the first two, and so on to all of them, and likewise from the last one down: the
    curves of Vashishth et al. (2019), Figure 4. Where predictions survive the loss of a layer's attention, that
    layer's weights were not needed while the others stayed. An encoder's attention, a decoder's among its own words
    and that between encoder and decoder are measured separately. Of a translator every step is a prediction, the
    next word after those of the reference, and the steps before it had such weights too; padding and words that are
    yet to come are never seen. Its texts as a whole are a matter of [`layers_bleu`](#layers_bleu). Not part of an
    audit unless asked for: `--challenge layers`.
    """

    name: ClassVar[str] = "layers"
    question: ClassVar[str] = "Does the prediction change when the attention of more and more layers is replaced?"
    reference: ClassVar[str] = "Vashishth et al. 2019, section 4.3 and Figure 4"
    needs: ClassVar[tuple[type, ...]] = (Layered,)
    replacement: Annotated[
        str,
        "`permutation`: each row's weights shuffled among what it may see; `uniform`: even weights; `random`: drawn "
        "anew.",
    ] = "permutation"
    draws: Annotated[int, "How often weights are drawn for each text.", Within(1, 1000)] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.replacement not in REPLACEMENTS:
            raise InputError(f"layers: replacement={self.replacement!r} must be one of {', '.join(REPLACEMENTS)}.")

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
                each: tuple[tuple[str, str, Statistic, str], ...] = (
                    ("change", "change", "mean", f"change of ŷ (TVD), attention {said}"),
                    ("flips", "flips", "share", "share of decisions that turn"),
                    ("accuracy", "correct_after", "share", "share of correct predictions"),
                    ("gained", "gained", "mean", "change of the share of correct predictions"),
                )
                for name, column, statistic, words in each:
                    told = f"{of}{ends}: {words}"
                    yield Measure(f"{before}{ends}.{name}", column, statistic, told, where, together="id")
            every = {"attention": kind, "replaced": "all"}
            yield Measure(f"{before}accuracy", "correct", "fraction", own, every, together="id")

    def measures_of(self, subject: Subject) -> tuple[Measure, ...]:
        """Those of the kinds of attention that the model has."""
        return of_kinds(self.measures, subject)

    def examine(self, examination: Examination) -> pa.Table:
        """One pass for every set of layers and draw."""
        return pa.concat_tables(self._rows(examination, layers) for layers in sets_of(examination.subject))

    def _replaced(self, examination: Examination, layers: LayerSet) -> Tensor:
        """The logits [batch, draw, class] with these attentions replaced."""
        if layers.one_key:
            return examination.reading.logits.double()[:, None]
        drawn = 1 if self.replacement == "uniform" else self.draws
        each = [Replacement(self.replacement, examination.seed, f"layers/{draw}") for draw in range(drawn)]
        subject, batch = required(Layered, examination.subject, self.name), examination.batch
        return torch.stack([subject.with_layers_replaced(batch, layers.places, one).double() for one in each], dim=1)

    def _rows(self, examination: Examination, layers: LayerSet) -> pa.Table:
        labels, own, size = examination.batch.labels, examination.reading.predicted, len(examination.batch)
        one_key = _one_key(examination, layers)
        judged = ~(examination.single | one_key)
        logits, after = examination.reading.logits.double(), self._replaced(examination, layers)
        decided = after.argmax(-1)
        change = total_variation(after.softmax(-1), logits.softmax(-1)[:, None])
        still = (decided == labels[:, None]).double().mean(-1)
        return pa.table(
            {
                "row": examination.rows,
                "attention": pa.array([layers.kind] * size, pa.string()),
                "replaced": pa.array([layers.name] * size, pa.string()),
                "direction": pa.array([layers.direction] * size, pa.string()),
                "layers": pa.array([layers.count] * size, pa.int32()),
                "label": pa.array(labels.cpu().numpy(), pa.int32()),
                "change": numbers(change.mean(-1), judged),
                "flips": numbers((decided != own[:, None]).double().mean(-1), judged),
                "correct": flags(own == labels, judged),
                "correct_after": numbers(still, judged),
                "gained": numbers(still - (own == labels).double(), judged),
                "not_judged": reasons((examination.single, "fewer than two tokens"), (one_key, ONE_KEY)),
            }
        )


def _one_key(examination: Examination, layers: LayerSet) -> np.ndarray:
    """Where there is nothing else to attend to: while the first word is written, only the start has been written."""
    target = examination.batch.target
    if layers.kind == "decoder" and target is not None:
        first: np.ndarray = (target.step == 0).cpu().numpy()
        return first
    return np.full(len(examination.batch), layers.one_key)


def of_kinds(measures: tuple[Measure, ...], subject: Subject) -> tuple[Measure, ...]:
    """The measures of those kinds of attention that a model has and that have more than one key."""
    places = required(Layered, subject, "layers").attention_places
    kinds = {place.kind for place in places if not place.one_key}
    return tuple(measure for measure in measures if measure.where.get("attention", "") in ("", *kinds))

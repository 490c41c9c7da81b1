"""Uniform: does the model need its attention when it predicts?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from attentest.challenges.challenge import Challenge, Examination, classes, flags, numbers, reasons
from attentest.challenges.rereading import reachable, reread
from attentest.store.findings import Measure

__all__ = ["UniformAttention"]


@dataclass(frozen=True)
class UniformAttention(Challenge):
    """Every real token gets weight 1/T at inference; the trained weights of everything else stay.

    The model is not trained again: it keeps everything but its weights, which become 1/T. `gained` is the change of
    accuracy, mostly below zero; `trained_uniform` asks a model that was trained that way.
    """

    name: ClassVar[str] = "uniform"
    question: ClassVar[str] = "Does the prediction change under uniform attention?"
    reference: ClassVar[str] = "Vashishth et al. 2019, section 4.1; Wiegreffe & Pinter 2019 (there in training too)"

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How much, how often, and what it costs."""
        return (
            Measure("change", "change", "mean", "change of ŷ (TVD) under uniform weights"),
            Measure("moved", "moved", "mean", "change of the logits under uniform weights, of all that weights can do"),
            Measure("flipped", "flipped", "fraction", "share of decisions that flip under uniform weights"),
            Measure("accuracy", "correct", "fraction", "share of correct predictions, own weights"),
            Measure("accuracy_uniform", "correct_uniform", "fraction", "share of correct predictions, uniform"),
            Measure("gained", "gained", "mean", "change of the share of correct predictions under uniform weights"),
        )

    def examine(self, examination: Examination) -> pa.Table:
        """One rereading."""
        mask, labels = examination.mask, examination.batch.labels
        uniform = mask.double() / examination.lengths.clamp(min=1)[:, None]
        found = reread(examination, uniform[:, None])
        own, decided, judged = examination.reading.predicted, found.decided[:, 0], ~examination.single
        right, still = own == labels, decided == labels
        return pa.table(
            {
                "row": examination.rows,
                "label": pa.array(labels.cpu().numpy(), pa.int32()),
                "change": numbers(found.change[:, 0], judged),
                "moved": numbers(found.moved[:, 0] / reachable(examination), judged),
                "decided": classes(decided, judged),
                "flipped": flags(decided != own, judged),
                "correct": flags(right, judged),
                "correct_uniform": flags(still, judged),
                "gained": numbers(still.double() - right.double(), judged),
                "not_judged": reasons((examination.single, "fewer than two tokens")),
            }
        )

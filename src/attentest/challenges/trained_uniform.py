"""Trained uniform: does a model that never had attention predict as well?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa

from attentest.challenges.beside import attention_of, classes, prediction_of
from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.challenges.companions import Companion
from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.store.findings import Measure

__all__ = ["TrainedUniform"]

UNIFORM = Companion(attention="uniform")


@dataclass(frozen=True)
class TrainedUniform(Challenge):
    """The same model trained and tested with every token weighing the same: what attention is worth."""

    name: ClassVar[str] = "trained_uniform"
    question: ClassVar[str] = "Does a model trained with uniform weights predict as well?"
    reference: ClassVar[str] = "Wiegreffe & Pinter 2019, section 3.2"

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What it costs to do without attention, and how far the weights are from uniform at all."""
        return (
            Measure("accuracy", "correct", "fraction", "share of correct predictions, learnt attention"),
            Measure("accuracy_uniform", "correct_uniform", "fraction", "share of correct predictions, trained uniform"),
            Measure("lost", "lost", "mean", "share of correct predictions lost by training without attention"),
            Measure("change", "change", "mean", "change of ŷ (TVD) in the model trained with uniform weights"),
            Measure("attention_jsd", "attention_jsd", "mean", "distance (JSD) of the weights from uniform ones"),
        )

    @property
    def companions(self) -> tuple[Companion, ...]:
        """The model without attention."""
        return (UNIFORM,)

    def examine(self, examination: Examination) -> pa.Table:
        """Both models' predictions side by side."""
        other, labels = examination.beside(UNIFORM), examination.batch.labels
        own, alone = examination.reading.predicted == labels, other.predicted == labels
        judged = ~examination.single
        return pa.table(
            {
                "row": examination.rows,
                "label": pa.array(labels.cpu().numpy(), pa.int32()),
                "change": numbers(total_variation(prediction_of(other), examination.probabilities), judged),
                "attention_jsd": numbers(jensen_shannon(attention_of(other), examination.weights), judged),
                "correct": flags(own, judged),
                "correct_uniform": flags(alone, judged),
                "predicted_uniform": classes(other.predicted, judged),
                "lost": numbers(own.double() - alone.double(), judged),
                "not_judged": reasons((examination.single, "fewer than two tokens")),
            }
        )

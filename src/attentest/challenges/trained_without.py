"""What trained_uniform and trained_random share: the same model trained with weights that are not learnt."""

from __future__ import annotations

from abc import ABC
from typing import ClassVar

import pyarrow as pa

from attentest.challenges.challenge import (
    Challenge,
    Examination,
    attention_of,
    classes,
    flags,
    numbers,
    prediction_of,
    reasons,
)
from attentest.challenges.companions import Companion
from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.store.findings import Measure

__all__ = ["TrainedWithout"]


class TrainedWithout(Challenge, ABC):
    """The same model trained and tested with weights that nobody learnt: what attention is worth."""

    #: The attention in the place of the learnt one.
    weights: ClassVar[str]

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What it costs to train with other weights, and how far these are from the model's."""
        kind = self.weights
        far = f"distance (JSD) of the weights from {kind} ones"
        return (
            Measure("accuracy", "correct", "fraction", "share of correct predictions, learnt attention"),
            Measure(f"accuracy_{kind}", f"correct_{kind}", "fraction", f"share of correct predictions, trained {kind}"),
            Measure("lost", "lost", "share", f"share of correct predictions lost by training with {kind} weights"),
            Measure("change", "change", "mean", f"change of ŷ (TVD) in the model trained with {kind} weights"),
            Measure("attention_jsd", "attention_jsd", "mean", far),
        )

    @property
    def companions(self) -> tuple[Companion, ...]:
        """The model without attention."""
        return (Companion(attention=self.weights),)

    def examine(self, examination: Examination) -> pa.Table:
        """Both models' predictions side by side."""
        other, labels = examination.beside(*self.companions), examination.batch.labels
        own, alone = examination.reading.predicted == labels, other.predicted == labels
        judged = ~examination.single
        return pa.table(
            {
                "row": examination.rows,
                "label": pa.array(labels.cpu().numpy(), pa.int32()),
                "change": numbers(total_variation(prediction_of(other), examination.probabilities), judged),
                "attention_jsd": numbers(jensen_shannon(attention_of(other), examination.weights), judged),
                "correct": flags(own, judged),
                f"correct_{self.weights}": flags(alone, judged),
                f"predicted_{self.weights}": classes(other.predicted, judged),
                "lost": numbers(own.double() - alone.double(), judged),
                "not_judged": reasons((examination.single, "fewer than two tokens")),
            }
        )

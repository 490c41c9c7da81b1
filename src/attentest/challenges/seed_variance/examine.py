"""Seed variance: how much does attention vary over seeds?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pyarrow as pa
import torch

from attentest.challenges.challenge import (
    Challenge,
    Examination,
    attention_of,
    flags,
    largest,
    lists,
    numbers,
    prediction_of,
    reasons,
)
from attentest.challenges.companions import Companion
from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.parameters import Within
from attentest.store.findings import Measure

__all__ = ["SeedVariance"]


@dataclass(frozen=True)
class SeedVariance(Challenge):
    """The same model trained from other seeds: how far its attention and its predictions move by chance alone.

    The same model is trained from other seeds: other first weights, other order of the texts. How far their
    attention lies from this model's (`attention_jsd`), how often another word weighs most (`top_changed`), and how
    much the predictions differ (`prediction_tvd`) is what chance alone does. Where attention moves a great deal and
    predictions hardly do, another training would have shown other words as the reason for the same decision. It is
    the yardstick for `adversarial_training` and `guide`: an adversary that attends no further away than another
    seed does has shown nothing. All seeds are compared with this model, not with one another; intervals are over
    texts, for these seeds. Trains `seeds` − 1 more models. Not part of an audit unless asked for.
    """

    name: ClassVar[str] = "seed_variance"
    question: ClassVar[str] = "How much do attention and predictions vary over seeds?"
    reference: ClassVar[str] = "Wiegreffe & Pinter 2019, section 3.3"
    seeds: Annotated[int, "Models in all, this one among them.", Within(2, 1000)] = 8

    @property
    def measures(self) -> tuple[Measure, ...]:
        """The spread that everything else is read against."""
        return (
            Measure("attention_jsd", "attention_jsd", "mean", "distance (JSD) of attention between seeds"),
            Measure("prediction_tvd", "prediction_tvd", "mean", "change of ŷ (TVD) between seeds"),
            Measure("top_changed", "top_changed", "share", "share of other seeds with another top token"),
            Measure("accuracy", "correct", "fraction", "share of correct predictions, own seed"),
            Measure("accuracy_others", "correct_others", "share", "share of correct predictions, other seeds"),
        )

    @property
    def companions(self) -> tuple[Companion, ...]:
        """One model for each of the other seeds."""
        return tuple(Companion(seed=k) for k in range(1, self.seeds))

    def examine(self, examination: Examination) -> pa.Table:
        """Every other seed beside the subject."""
        others = [examination.beside(companion) for companion in self.companions]
        labels, own = examination.batch.labels, examination.weights
        weights = torch.stack([attention_of(other) for other in others], dim=1)
        apart = jensen_shannon(weights, own[:, None])
        change = total_variation(
            torch.stack([prediction_of(other) for other in others], dim=1), examination.probabilities[:, None]
        )
        predicted = torch.stack([other.predicted for other in others], dim=1)
        moved = weights.argmax(-1) != own.argmax(-1)[:, None]
        judged = ~examination.single
        return pa.table(
            {
                "row": examination.rows,
                "label": pa.array(labels.cpu().numpy(), pa.int32()),
                "max_attention": numbers(largest(own)),
                "attention_jsd": numbers(apart.mean(-1), judged),
                "prediction_tvd": numbers(change.mean(-1), judged),
                "attention_jsd_by_seed": lists(apart, judged),
                "prediction_tvd_by_seed": lists(change, judged),
                "correct": flags(examination.reading.predicted == labels, judged),
                "correct_others": numbers((predicted == labels[:, None]).double().mean(-1), judged),
                "predicted_by_seed": lists(predicted, judged),
                "top_changed": numbers(moved.double().mean(-1), judged),
                "top_changed_by_seed": lists(moved.double(), judged),
                "not_judged": reasons((examination.single, "fewer than two tokens")),
            }
        )

"""Random weights: does the model need its own attention when it predicts, or would any do?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import pyarrow as pa

from attentest.challenges.challenge import Challenge, Examination, flags, numbers, reasons
from attentest.challenges.rereading import reread
from attentest.measures.chance import uniforms
from attentest.parameters import Within
from attentest.store.findings import Measure

__all__ = ["RandomWeights"]


@dataclass(frozen=True)
class RandomWeights(Challenge):
    """Weights from U(0, 1), normalised, at inference; the trained weights of everything else stay.

    The model is not trained again: it keeps everything but its weights, which are drawn from U(0, 1) and
    normalised, several times for every text. `trained_random` asks a model that was trained under random weights as
    well.
    """

    name: ClassVar[str] = "random_weights"
    question: ClassVar[str] = "Does the prediction change under random attention?"
    reference: ClassVar[str] = "Vashishth et al. 2019, section 4.1"
    draws: Annotated[int, "How often weights are drawn for every text.", Within(1, 10_000)] = 10

    @property
    def measures(self) -> tuple[Measure, ...]:
        """How much, how often, and what it costs."""
        return (
            Measure("change", "change", "mean", "change of ŷ (TVD) under random weights, mean over draws"),
            Measure("flips", "flips", "share", "share of draws of random weights that flip the decision"),
            Measure("accuracy", "correct", "fraction", "share of correct predictions, own weights"),
            Measure("accuracy_random", "correct_random", "share", "share of correct predictions, random weights"),
            Measure("gained", "gained", "mean", "change of the share of correct predictions under random weights"),
        )

    def examine(self, examination: Examination) -> pa.Table:
        """As many rereadings as draws."""
        mask, keys, labels = examination.mask, examination.batch.keys, examination.batch.labels
        # Above zero, so that a text of one token keeps its weight.
        drawn = 1.0 - uniforms(keys, self.draws, mask.shape[1], examination.seed, "random_weights", mask)
        drawn = drawn * mask[:, None]
        weights = drawn / drawn.sum(-1, keepdim=True).clamp(min=1e-300)
        found, own, judged = reread(examination, weights), examination.reading.predicted, ~examination.single
        right, still = own == labels, (found.decided == labels[:, None]).double().mean(-1)
        return pa.table(
            {
                "row": examination.rows,
                "label": pa.array(labels.cpu().numpy(), pa.int32()),
                "change": numbers(found.change.mean(-1), judged),
                "flips": numbers((found.decided != own[:, None]).double().mean(-1), judged),
                "correct": flags(right, judged),
                "correct_random": numbers(still, judged),
                "gained": numbers(still - right.double(), judged),
                "not_judged": reasons((examination.single, "fewer than two tokens")),
            }
        )

"""Adversarial training: could a whole model attend elsewhere and predict the same?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
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
from attentest.challenges.companions import Against, Companion
from attentest.errors import InputError
from attentest.measures.divergence import jensen_shannon, total_variation
from attentest.parameters import Several, Within
from attentest.store.findings import Measure

__all__ = ["AdversarialTraining"]

#: Where the training of an adversary begins: from new weights, or from those of the adversary of the λ before.
STARTS = ("fresh", "previous")


@dataclass(frozen=True)
class AdversarialTraining(Challenge):
    """Models trained to predict as the subject does and to attend elsewhere, the more so the larger λ: the curve.

    For every λ a whole model is trained from new weights to predict as this one does and to attend elsewhere: it
    minimises TVD(ŷ′, ŷ) − λ·divergence(α′, α) over the training texts and never sees a label. That is a harder test
    than finding other weights text by text, as `adversary` does: one set of parameters must do for every text, also
    for texts it was not trained on. The measures are the points of a curve, from λ = 0, which only imitates, to a λ
    for which nothing but attending elsewhere counts: how far attention could be moved (`jsd`, at most ln 2 ≈ 0.69)
    at what change of the predictions (`tvd`). Read it beside `seed_variance`: where an adversary changes the
    predictions no more than another seed does and attends far further away, this model's attention is one of many
    that go with the same behaviour. A curve that rises steeply says that the behaviour needs this attention.

    The default λs were chosen for `kl` on the Stanford Sentiment Treebank, where they lead from imitation to the
    far end. For `jsd`, which is bounded, give larger ones, such as `weights=(0.0, 0.003, 0.01, 0.03, 0.1, 1.0)`.
    Of sparse attention, whose zeros are exact, `kl` from any other is infinite, and counts as 87 nats: ask with `jsd`.
    Wiegreffe & Pinter's released code is had with `halved=True` and `select='test'`; to choose the epoch by the
    test texts makes the adversary look better than it is. Trains one model for each λ and seed. Not part of an
    audit unless asked for.
    """

    name: ClassVar[str] = "adversarial_training"
    question: ClassVar[str] = "Can a model be trained that predicts the same but attends elsewhere?"
    reference: ClassVar[str] = "Wiegreffe & Pinter 2019, section 4; Tutek & Šnajder 2020, equation 6 (divergence='jsd')"
    of_classifiers: ClassVar[bool] = True
    weights: Annotated[
        tuple[float | int, ...],
        "Every λ, in the order of the curve: what attending elsewhere is worth, in units of TVD.",
        Several(),
        Within(0, 1e9),
    ] = (0.0, 0.0003, 0.001, 0.003, 0.01, 0.1)
    divergence: Annotated[
        str,
        "`kl`: KL(α′ ‖ α), as in Wiegreffe & Pinter 2019. `jsd`: Jensen–Shannon divergence in nats, as in Tutek & "
        "Šnajder 2020.",
    ] = "kl"
    seeds: Annotated[int, "Adversaries of every λ; measures are means over them.", Within(1, 100)] = 1
    start: Annotated[
        str,
        "`fresh`: every adversary begins from new weights. `previous`: from the adversary of the λ before; its "
        "attention then moves away at a larger λ, so compare curves, not single λs.",
    ] = "fresh"
    halved: Annotated[bool, "Whether the TVD counts half, as in the released code."] = False
    select: Annotated[
        str,
        "The split that chooses the epoch, by the adversary's own loss: `dev`, or, as in the released code, `test`.",
    ] = "dev"

    def __post_init__(self) -> None:
        super().__post_init__()
        # Written in one way, so that equal challenges have the same name.
        object.__setattr__(self, "weights", tuple(float(weight) for weight in self.weights))
        if len(set(self.labels)) < len(self.weights):
            raise InputError(f"adversarial_training: weights={self.weights} must name each λ once.")
        if self.start not in STARTS:
            raise InputError(f"adversarial_training: start={self.start!r} must be one of {', '.join(STARTS)}.")
        for weight in self.weights:
            self._against(weight)

    def _against(self, weight: float) -> Against:
        return Against(weight, self.divergence, self.halved, self.select)

    @property
    def labels(self) -> tuple[str, ...]:
        """Every λ as the findings write it."""
        return tuple(f"{weight:g}" for weight in self.weights)

    @property
    def measures(self) -> tuple[Measure, ...]:
        """A point of the curve for every λ."""
        return tuple(self._measures())

    def _measures(self) -> Iterator[Measure]:
        yield Measure("accuracy", "correct", "fraction", "share of correct predictions", {"weight": self.labels[0]})
        for label in self.labels:
            where = {"weight": label}
            change, apart = "change of ŷ (TVD) in the adversary of this λ", "distance (JSD) of its attention"
            yield Measure(f"{label}.tvd", "tvd", "mean", f"λ = {label}: {change}", where)
            yield Measure(f"{label}.jsd", "jsd", "mean", f"λ = {label}: {apart}", where)
            words = f"λ = {label}: share of its predictions that are correct"
            yield Measure(f"{label}.accuracy", "correct_adversary", "share", words, where)

    def adversaries(self) -> tuple[tuple[Companion, ...], ...]:
        """For every λ its adversaries, one for each seed."""
        curve: list[tuple[Companion, ...]] = []
        for weight in self.weights:
            before = curve[-1] if curve and self.start == "previous" else (None,) * self.seeds
            against = self._against(weight)
            curve.append(
                tuple(
                    Companion(seed=k, against=against, starts_from=origin) for k, origin in enumerate(before, start=1)
                )
            )
        return tuple(curve)

    @property
    def companions(self) -> tuple[Companion, ...]:
        """One adversary for each λ and seed, in the order in which one may begin from the other."""
        return tuple(companion for of_weight in self.adversaries() for companion in of_weight)

    def examine(self, examination: Examination) -> pa.Table:
        """One row per text and λ."""
        return pa.concat_tables(
            self._of_weight(examination, label, companions)
            for label, companions in zip(self.labels, self.adversaries(), strict=True)
        )

    def _of_weight(self, examination: Examination, label: str, companions: tuple[Companion, ...]) -> pa.Table:
        others = [examination.beside(companion) for companion in companions]
        labels, own = examination.batch.labels, examination.weights
        apart = jensen_shannon(torch.stack([attention_of(other) for other in others], dim=1), own[:, None])
        change = total_variation(
            torch.stack([prediction_of(other) for other in others], dim=1), examination.probabilities[:, None]
        )
        predicted = torch.stack([other.predicted for other in others], dim=1)
        judged = ~examination.single
        return pa.table(
            {
                "row": examination.rows,
                "weight": pa.array(np.full(len(judged), label, dtype=object), pa.string()),
                "label": pa.array(labels.cpu().numpy(), pa.int32()),
                "tvd": numbers(change.mean(-1), judged),
                "jsd": numbers(apart.mean(-1), judged),
                "tvd_by_seed": lists(change, judged),
                "jsd_by_seed": lists(apart, judged),
                "correct": flags(examination.reading.predicted == labels, judged),
                "correct_adversary": numbers((predicted == labels[:, None]).double().mean(-1), judged),
                "predicted_by_seed": lists(predicted, judged),
                "max_attention": numbers(largest(own)),
                "not_judged": reasons((examination.single, "fewer than two tokens")),
            }
        )

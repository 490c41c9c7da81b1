"""Trained uniform: does a model that never had attention predict as well?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from attentest.challenges.trained_without import TrainedWithout

__all__ = ["TrainedUniform"]


@dataclass(frozen=True)
class TrainedUniform(TrainedWithout):
    """The same model trained and tested with every token weighing the same: what attention is worth.

    The same model is trained once more, with the same seed, but every token weighs the same, in training and after.
    Where it predicts as well (`lost` near zero), the task does not need attention, and whatever the weights show
    cannot be what makes the model good: no explanation is owed to them. Where it predicts worse, attention does
    something; what, the other tests ask. `uniform` asks another question: there the weights are made uniform only
    after training, in a model that relies on them. Trains one more model. Not part of an audit unless asked for.
    """

    name: ClassVar[str] = "trained_uniform"
    question: ClassVar[str] = "Does a model trained with uniform weights predict as well?"
    reference: ClassVar[str] = "Wiegreffe & Pinter 2019, section 3.2; Vashishth et al. 2019, section 4.1"
    weights: ClassVar[str] = "uniform"

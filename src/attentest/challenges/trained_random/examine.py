"""Trained random: does a model that only ever had random weights predict as well?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from attentest.challenges.trained_without import TrainedWithout

__all__ = ["TrainedRandom"]


@dataclass(frozen=True)
class TrainedRandom(TrainedWithout):
    """The same model trained with weights drawn anew in every pass, and tested with random ones that stay.

    As `trained_uniform`, but the weights are random: drawn anew for every text in every pass of training, and
    afterwards drawn once for every text. A model that learns under such weights cannot rely on any of them, so what
    it still reaches needs no attention. `random_weights` asks another question: there the weights become random
    only after training. Trains one more model. Not part of an audit unless asked for.
    """

    name: ClassVar[str] = "trained_random"
    question: ClassVar[str] = "Does a model trained with random weights predict as well?"
    reference: ClassVar[str] = "Vashishth et al. 2019, section 4.1"
    weights: ClassVar[str] = "random"

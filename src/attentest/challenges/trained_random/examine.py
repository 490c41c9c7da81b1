"""Trained random: does a model that only ever had random weights predict as well?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from attentest.challenges.trained_without import TrainedWithout

__all__ = ["TrainedRandom"]


@dataclass(frozen=True)
class TrainedRandom(TrainedWithout):
    """The same model trained with weights drawn anew in every pass, and tested with random ones that stay."""

    name: ClassVar[str] = "trained_random"
    question: ClassVar[str] = "Does a model trained with random weights predict as well?"
    reference: ClassVar[str] = "Vashishth et al. 2019, section 4.1"
    weights: ClassVar[str] = "random"

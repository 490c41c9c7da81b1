"""Trained uniform: does a model that never had attention predict as well?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from attentest.challenges.trained_without import TrainedWithout

__all__ = ["TrainedUniform"]


@dataclass(frozen=True)
class TrainedUniform(TrainedWithout):
    """The same model trained and tested with every token weighing the same: what attention is worth."""

    name: ClassVar[str] = "trained_uniform"
    question: ClassVar[str] = "Does a model trained with uniform weights predict as well?"
    reference: ClassVar[str] = "Wiegreffe & Pinter 2019, section 3.2; Vashishth et al. 2019, section 4.1"
    weights: ClassVar[str] = "uniform"

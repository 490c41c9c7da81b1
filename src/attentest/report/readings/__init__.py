"""The readings, a visible table: how the findings of each challenge are read. Nothing here imports torch.

Figures and the columns of studies stand in this order; lines stand in the order of the argument (``report/lines.py``).
Other packages add theirs as entry points of the group ``attentest.readings``, each named for its challenge.
"""

from __future__ import annotations

from attentest.registry import Table
from attentest.report.readings.agreement import AGREEMENT, INSTANCES
from attentest.report.readings.erased import FLIP_SETS, GATING, SINGLE_WEIGHT
from attentest.report.readings.layers import HEADS, JOINT_ADVERSARY, KNOCKOUT, LAYERS, LAYERS_BLEU
from attentest.report.readings.marked import ALIGNMENT, BLEU, RATIONALE
from attentest.report.readings.reading import Reading
from attentest.report.readings.saliency import (
    CERTIFICATES,
    FAITHFULNESS,
    INPUT_INVARIANCE,
    RANDOMISATION,
    SOFT_FAITHFULNESS,
)
from attentest.report.readings.trained import (
    ADVERSARIAL_TRAINING,
    GUIDE,
    SEED_VARIANCE,
    TRAINED_RANDOM,
    TRAINED_UNIFORM,
)
from attentest.report.readings.weights import ADVERSARY, PERMUTATION, RANDOM_WEIGHTS, UNIFORM

__all__ = ["READINGS"]

_OWN = (
    *(INSTANCES, AGREEMENT, FAITHFULNESS, SOFT_FAITHFULNESS, INPUT_INVARIANCE, CERTIFICATES, RANDOMISATION),
    *(LAYERS, LAYERS_BLEU, HEADS, KNOCKOUT, JOINT_ADVERSARY),
    *(RATIONALE, ALIGNMENT, BLEU, PERMUTATION, UNIFORM, RANDOM_WEIGHTS, ADVERSARY),
    *(SINGLE_WEIGHT, FLIP_SETS, GATING),
    *(TRAINED_UNIFORM, TRAINED_RANDOM, SEED_VARIANCE, GUIDE, ADVERSARIAL_TRAINING),
)
READINGS: Table[Reading] = Table("reading", {reading.challenge: reading for reading in _OWN})

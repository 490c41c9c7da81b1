"""Challenges: one question each. Reading this table is reading the feature list."""

from __future__ import annotations

from attentest.challenges.adversary import Adversary
from attentest.challenges.agreement import Agreement
from attentest.challenges.certificates import Certificates
from attentest.challenges.challenge import Challenge, Examination
from attentest.challenges.faithfulness import Faithfulness
from attentest.challenges.flip_sets import FlipSets
from attentest.challenges.input_invariance import InputInvariance
from attentest.challenges.instances import Instances
from attentest.challenges.permutation import Permutation
from attentest.challenges.randomisation import Randomisation
from attentest.challenges.rationale import Rationale
from attentest.challenges.single_weight import SingleWeight
from attentest.challenges.soft_faithfulness import SoftFaithfulness
from attentest.challenges.uniform import UniformAttention
from attentest.registry import Registry

__all__ = ["CHALLENGES", "DEFAULT", "Challenge", "Examination"]

CHALLENGES: Registry[Challenge] = Registry(
    "challenge",
    {
        "instances": Instances,
        "agreement": Agreement,
        "permutation": Permutation,
        "adversary": Adversary,
        "uniform": UniformAttention,
        "rationale": Rationale,
        "faithfulness": Faithfulness,
        "certificates": Certificates,
        "soft_faithfulness": SoftFaithfulness,
        "input_invariance": InputInvariance,
        "randomisation": Randomisation,
        "single_weight": SingleWeight,
        "flip_sets": FlipSets,
    },
)

#: What an audit runs when nothing else is asked for.
DEFAULT = ("agreement", "permutation", "adversary", "uniform", "rationale", "faithfulness", "certificates")

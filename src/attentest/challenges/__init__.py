"""Challenges: one question each. Reading this table is reading the feature list."""

from __future__ import annotations

from attentest.challenges.adversarial_training import AdversarialTraining
from attentest.challenges.adversary import Adversary
from attentest.challenges.agreement import Agreement
from attentest.challenges.alignment import Alignment
from attentest.challenges.bleu import Bleu
from attentest.challenges.certificates import Certificates
from attentest.challenges.challenge import Challenge, Examination
from attentest.challenges.faithfulness import Faithfulness
from attentest.challenges.flip_sets import FlipSets
from attentest.challenges.gating import Gating
from attentest.challenges.guide import Guide
from attentest.challenges.heads import Heads
from attentest.challenges.input_invariance import InputInvariance
from attentest.challenges.instances import Instances
from attentest.challenges.joint_adversary import JointAdversary
from attentest.challenges.knockout import Knockout
from attentest.challenges.layers import Layers
from attentest.challenges.layers_bleu import LayersBleu
from attentest.challenges.permutation import Permutation
from attentest.challenges.random_weights import RandomWeights
from attentest.challenges.randomisation import Randomisation
from attentest.challenges.rationale import Rationale
from attentest.challenges.seed_variance import SeedVariance
from attentest.challenges.single_weight import SingleWeight
from attentest.challenges.soft_faithfulness import SoftFaithfulness
from attentest.challenges.trained_random import TrainedRandom
from attentest.challenges.trained_uniform import TrainedUniform
from attentest.challenges.uniform import UniformAttention
from attentest.registry import Registry

__all__ = ["CHALLENGES", "DEFAULT", "THOROUGH", "Challenge", "Examination"]

CHALLENGES: Registry[Challenge] = Registry(
    "challenge",
    {
        "instances": Instances,
        "agreement": Agreement,
        "permutation": Permutation,
        "adversary": Adversary,
        "uniform": UniformAttention,
        "random_weights": RandomWeights,
        "rationale": Rationale,
        "faithfulness": Faithfulness,
        "certificates": Certificates,
        "soft_faithfulness": SoftFaithfulness,
        "input_invariance": InputInvariance,
        "randomisation": Randomisation,
        "single_weight": SingleWeight,
        "flip_sets": FlipSets,
        "gating": Gating,
        "bleu": Bleu,
        "alignment": Alignment,
        "trained_uniform": TrainedUniform,
        "trained_random": TrainedRandom,
        "seed_variance": SeedVariance,
        "guide": Guide,
        "adversarial_training": AdversarialTraining,
        "layers": Layers,
        "layers_bleu": LayersBleu,
        "heads": Heads,
        "knockout": Knockout,
        "joint_adversary": JointAdversary,
    },
)

#: What an audit runs when nothing else is asked for.
DEFAULT = (
    *("agreement", "permutation", "adversary", "uniform", "rationale", "faithfulness", "certificates"),
    *("single_weight", "flip_sets"),
)
#: What a thorough audit adds: each trains other models to compare this one with.
THOROUGH = ("trained_uniform", "seed_variance", "guide", "adversarial_training")

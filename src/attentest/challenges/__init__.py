"""Challenges: one question each. Reading this table is reading the feature list."""

from __future__ import annotations

from attentest.challenges.adversarial_training.examine import AdversarialTraining
from attentest.challenges.adversary.examine import Adversary
from attentest.challenges.agreement.examine import Agreement
from attentest.challenges.alignment.examine import Alignment
from attentest.challenges.bleu.examine import Bleu
from attentest.challenges.certificates.examine import Certificates
from attentest.challenges.challenge import Challenge, Examination
from attentest.challenges.faithfulness.examine import Faithfulness
from attentest.challenges.flip_sets.examine import FlipSets
from attentest.challenges.gating.examine import Gating
from attentest.challenges.guide.examine import Guide
from attentest.challenges.heads.examine import Heads
from attentest.challenges.input_invariance.examine import InputInvariance
from attentest.challenges.instances.examine import Instances
from attentest.challenges.joint_adversary.examine import JointAdversary
from attentest.challenges.knockout.examine import Knockout
from attentest.challenges.layers.examine import Layers
from attentest.challenges.layers_bleu.examine import LayersBleu
from attentest.challenges.permutation.examine import Permutation
from attentest.challenges.random_weights.examine import RandomWeights
from attentest.challenges.randomisation.examine import Randomisation
from attentest.challenges.rationale.examine import Rationale
from attentest.challenges.seed_variance.examine import SeedVariance
from attentest.challenges.single_weight.examine import SingleWeight
from attentest.challenges.soft_faithfulness.examine import SoftFaithfulness
from attentest.challenges.trained_random.examine import TrainedRandom
from attentest.challenges.trained_uniform.examine import TrainedUniform
from attentest.challenges.uniform.examine import UniformAttention
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

"""Explainers: one score per token. Reading this table is reading the feature list."""

from __future__ import annotations

from attentest.explainers.attention.attention import AttentionWeights
from attentest.explainers.attention.attention_flow import AttentionFlow
from attentest.explainers.attention.attention_mean import AttentionMean
from attentest.explainers.attention.attention_x_gradient import AttentionXGradient
from attentest.explainers.attention.attention_x_value_norm import AttentionXValueNorm
from attentest.explainers.attention.generic_relevance import GenericRelevance
from attentest.explainers.attention.rollout import Rollout
from attentest.explainers.attention.state_evidence import StateEvidence
from attentest.explainers.attention.value_weighted_norm import ValueWeightedNorm
from attentest.explainers.captum_adapter import Captum
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.gradient.gradient import Gradient, GradientState
from attentest.explainers.gradient.gradient_norm import GradientNorm
from attentest.explainers.gradient.gradient_x_input import GradientXInput
from attentest.explainers.gradient.integrated_gradients import IntegratedGradients
from attentest.explainers.gradient.smooth_grad import SmoothGrad
from attentest.explainers.oracle import Oracle
from attentest.explainers.perturbation.deletion import Deletion
from attentest.explainers.perturbation.kernel_shap import KernelShap
from attentest.explainers.perturbation.leave_one_out import LeaveOneOut
from attentest.explainers.perturbation.lime import Lime
from attentest.explainers.perturbation.occlusion import Occlusion
from attentest.explainers.perturbation.state_erasure import StateErasure
from attentest.explainers.precomputed import Precomputed
from attentest.explainers.random_scores import RandomScores
from attentest.explainers.relevance.attn_lrp import AttnLRP
from attentest.explainers.relevance.deep_lift import DeepLift
from attentest.explainers.relevance.lrp import LRP
from attentest.registry import Registry

__all__ = ["EXPLAINERS", "LAYERED", "Attribution", "Explainer"]

EXPLAINERS: Registry[Explainer] = Registry(
    "explainer",
    {
        "attention": AttentionWeights,
        "attention_x_gradient": AttentionXGradient,
        "attention_x_value_norm": AttentionXValueNorm,
        "gradient": Gradient,
        "gradient_norm": GradientNorm,
        "gradient_x_input": GradientXInput,
        "integrated_gradients": IntegratedGradients,
        "smooth_grad": SmoothGrad,
        "lrp": LRP,
        "deep_lift": DeepLift,
        "occlusion": Occlusion,
        "deletion": Deletion,
        "leave_one_out": LeaveOneOut,
        "lime": Lime,
        "kernel_shap": KernelShap,
        "captum": Captum,
        "gradient_state": GradientState,
        "state_erasure": StateErasure,
        "state_evidence": StateEvidence,
        "random": RandomScores,
        "oracle": Oracle,
        "precomputed": Precomputed,
        "attention_mean": AttentionMean,
        "rollout": Rollout,
        "attention_flow": AttentionFlow,
        "value_weighted_norm": ValueWeightedNorm,
        "generic_relevance": GenericRelevance,
        "attn_lrp": AttnLRP,
    },
)

#: Those that follow attention through layers or heads, and apply to transformers alone.
LAYERED = ("attention_mean", "rollout", "attention_flow", "value_weighted_norm", "generic_relevance", "attn_lrp")

"""Explainers: one score per token. Reading this table is reading the feature list."""

from __future__ import annotations

from attentest.explainers.attention import AttentionWeights
from attentest.explainers.attention_flow import AttentionFlow
from attentest.explainers.attention_mean import AttentionMean
from attentest.explainers.attention_x_gradient import AttentionXGradient
from attentest.explainers.attention_x_value_norm import AttentionXValueNorm
from attentest.explainers.attn_lrp import AttnLRP
from attentest.explainers.captum_adapter import Captum
from attentest.explainers.deep_lift import DeepLift
from attentest.explainers.deletion import Deletion
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.generic_relevance import GenericRelevance
from attentest.explainers.gradient import Gradient, GradientState
from attentest.explainers.gradient_norm import GradientNorm
from attentest.explainers.gradient_x_input import GradientXInput
from attentest.explainers.integrated_gradients import IntegratedGradients
from attentest.explainers.kernel_shap import KernelShap
from attentest.explainers.leave_one_out import LeaveOneOut
from attentest.explainers.lime import Lime
from attentest.explainers.lrp import LRP
from attentest.explainers.occlusion import Occlusion
from attentest.explainers.oracle import Oracle
from attentest.explainers.precomputed import Precomputed
from attentest.explainers.random_scores import RandomScores
from attentest.explainers.rollout import Rollout
from attentest.explainers.smooth_grad import SmoothGrad
from attentest.explainers.state_erasure import StateErasure
from attentest.explainers.state_evidence import StateEvidence
from attentest.explainers.value_weighted_norm import ValueWeightedNorm
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

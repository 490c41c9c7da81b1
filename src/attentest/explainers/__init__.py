"""Explainers: one score per token. Reading this table is reading the feature list."""

from __future__ import annotations

from attentest.explainers.attention import AttentionWeights
from attentest.explainers.explainer import Attribution, Explainer
from attentest.explainers.gradient import Gradient, GradientState
from attentest.explainers.leave_one_out import LeaveOneOut
from attentest.explainers.state_erasure import StateErasure
from attentest.explainers.state_evidence import StateEvidence
from attentest.registry import Registry

__all__ = ["EXPLAINERS", "Attribution", "Explainer"]

EXPLAINERS: Registry[Explainer] = Registry(
    "explainer",
    {
        "attention": AttentionWeights,
        "gradient": Gradient,
        "gradient_state": GradientState,
        "leave_one_out": LeaveOneOut,
        "state_erasure": StateErasure,
        "state_evidence": StateEvidence,
    },
)

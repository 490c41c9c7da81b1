"""Kinds of explainers: whether scores have a sign, and whether they are made of the erasure that tests them."""

from __future__ import annotations

from attentest.explainers import EXPLAINERS, Explainer
from attentest.explainers.captum_adapter import Captum
from attentest.explainers.gradient.gradient_norm import GradientNorm
from attentest.explainers.gradient.smooth_grad import SmoothGrad

__all__ = ["is_made_of", "is_signed"]

#: Explainers that erase tokens, and those that take a state's weight away or are made of the weights themselves.
OF_TOKENS = ("leave_one_out", "deletion", "occlusion")
OF_STATES = ("state_erasure", "state_evidence", "attention", "attention_x_gradient", "attention_x_value_norm")


def is_signed(explainer: Explainer) -> bool:
    """Whether these parameters make scores that speak for or against a class."""
    if isinstance(explainer, GradientNorm):
        return explainer.norm == "sum"
    if isinstance(explainer, SmoothGrad):
        return is_signed(EXPLAINERS.parse(explainer.of))
    if isinstance(explainer, Captum):
        return explainer.method != "Saliency"
    return explainer.signed


def is_made_of(explainer: Explainer, erasure: str) -> bool:
    """Whether the scores come from erasing as the test does, so that they are nearly its criterion."""
    return explainer.name in (OF_STATES if erasure == "zero_attention" else OF_TOKENS)

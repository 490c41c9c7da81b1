"""Explainers: one score per token. Whatever explainer a module below defines is found; nothing is listed."""

from __future__ import annotations

from functools import partial

from attentest.explainers.explainer import Attribution, Explainer
from attentest.registry import Registry, classes_below

__all__ = ["EXPLAINERS", "Attribution", "Explainer"]

EXPLAINERS: Registry[Explainer] = Registry("explainer", partial(classes_below, __name__, Explainer))

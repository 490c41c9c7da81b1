"""Selectors: which words a predictor reads. Whatever selector a module here defines is found."""

from __future__ import annotations

from functools import partial

from attentest.models.parts.selectors.selector import Selector
from attentest.registry import Registry, classes_below

__all__ = ["SELECTORS", "Selector"]

SELECTORS: Registry[Selector] = Registry("selector", partial(classes_below, __name__, Selector), "selectors")

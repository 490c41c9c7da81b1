"""Methods: one score per source. Whatever method a module below defines is found; nothing is listed."""

from __future__ import annotations

from functools import partial

from attentest.registry import Registry, classes_below
from attentest.sources.methods.method import Method, Scored

__all__ = ["METHODS", "Method", "Scored"]

METHODS: Registry[Method] = Registry("source method", partial(classes_below, __name__, Method))

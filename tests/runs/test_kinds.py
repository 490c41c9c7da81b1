"""Runs are of three final kinds under one abstract one, and no kind overrides what is settled above it."""

from __future__ import annotations

import inspect
from abc import ABC

import pytest

from attentest.runs.fine_tuned import FineTunedRun
from attentest.runs.given import GivenRun
from attentest.runs.run import Run
from attentest.runs.trained import TrainedRun

KINDS = (TrainedRun, FineTunedRun, GivenRun)


def test_there_are_three_kinds_all_final():
    assert {*Run.__subclasses__()} == {*KINDS}
    assert all(getattr(kind, "__final__", False) and not kind.__subclasses__() for kind in KINDS)
    assert inspect.isabstract(Run)
    assert Run.__bases__ == (ABC,)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_defines_what_is_abstract_and_overrides_nothing_concrete(kind):
    written = {name for name, value in vars(Run).items() if callable(value) or hasattr(value, "__get__")}
    concrete = {name for name in written if not name.startswith("__")} - Run.__abstractmethods__
    assert {"fields", "id", "model_key", "findings_key", "examined"} <= concrete
    assert not concrete & {*vars(kind)}
    assert Run.__abstractmethods__ <= {*vars(kind)}

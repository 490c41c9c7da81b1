from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from attentest.measures.performance import accuracy, f1_macro, f1_of, roc_auc


@pytest.mark.parametrize("seed", range(5))
def test_accuracy_f1_and_auc_are_scikit_learns(seed):
    rng = np.random.default_rng(seed)
    labels, predicted = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    assert accuracy(labels, predicted) == pytest.approx(accuracy_score(labels, predicted))
    assert f1_macro(labels, predicted) == pytest.approx(f1_score(labels, predicted, average="macro"))
    assert f1_of(labels, predicted, 1) == pytest.approx(f1_score(labels == 1, predicted == 1))
    two, scores = rng.integers(0, 2, 60), rng.integers(0, 7, 60) / 7
    assert roc_auc(two, scores) == pytest.approx(roc_auc_score(two, scores))


def test_what_cannot_be_computed_is_not_a_number():
    assert math.isnan(roc_auc(np.ones(4, dtype=int), np.arange(4.0)))
    assert math.isnan(accuracy(np.array([], dtype=int), np.array([], dtype=int)))

from __future__ import annotations

import math

import numpy as np
import pytest

from attentest.statistics.performance import accuracy, f1_macro, roc_auc


def literal_f1(labels, predicted, positive):
    hits = sum(a == b == positive for a, b in zip(labels, predicted, strict=True))
    return 2 * hits / ((labels == positive).sum() + (predicted == positive).sum())


@pytest.mark.parametrize("seed", range(5))
def test_accuracy_f1_and_auc_are_what_their_definitions_say(seed):
    rng = np.random.default_rng(seed)
    labels, predicted = rng.integers(0, 3, 60), rng.integers(0, 3, 60)
    assert accuracy(labels, predicted) == pytest.approx(
        sum(a == b for a, b in zip(labels, predicted, strict=True)) / 60
    )
    assert f1_macro(labels, predicted) == pytest.approx(np.mean([literal_f1(labels, predicted, c) for c in range(3)]))
    two, scores = rng.integers(0, 2, 60), rng.integers(0, 7, 60) / 7
    pairs = [(a > b) + (a == b) / 2 for a in scores[two == 1] for b in scores[two == 0]]
    assert roc_auc(two, scores) == pytest.approx(np.mean(pairs))


def test_a_class_that_is_only_predicted_counts():
    labels, predicted = np.array([0, 0, 1]), np.array([0, 2, 1])
    assert f1_macro(labels, predicted) == pytest.approx((2 / 3 + 1 + 0) / 3)


def test_what_cannot_be_computed_is_not_a_number():
    assert math.isnan(roc_auc(np.ones(4, dtype=int), np.arange(4.0)))
    assert math.isnan(accuracy(np.array([], dtype=int), np.array([], dtype=int)))

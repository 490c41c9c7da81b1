"""How well a classifier predicts: accuracy, F1, ROC-AUC, as scikit-learn has them, and NaN where there is none."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["accuracy", "f1_macro", "roc_auc"]


def accuracy(labels: np.ndarray, predicted: np.ndarray) -> float:
    """The share of correct predictions."""
    return float((labels == predicted).mean()) if len(labels) else math.nan


def f1_macro(labels: np.ndarray, predicted: np.ndarray) -> float:
    """The mean of every present class's F1."""
    from sklearn.metrics import f1_score

    return float(f1_score(labels, predicted, average="macro", zero_division=0)) if len(labels) else math.nan


def roc_auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """The chance that a positive instance scores above a negative one (ties count half)."""
    from sklearn.metrics import roc_auc_score

    positive = labels == 1
    return float(roc_auc_score(positive, scores)) if positive.any() and not positive.all() else math.nan

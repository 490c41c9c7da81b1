"""How well a classifier predicts: accuracy, F1, ROC-AUC; numpy only."""

from __future__ import annotations

import numpy as np

__all__ = ["accuracy", "f1_macro", "f1_of", "roc_auc"]


def accuracy(labels: np.ndarray, predicted: np.ndarray) -> float:
    """The share of correct predictions."""
    return float((labels == predicted).mean()) if len(labels) else float("nan")


def f1_of(labels: np.ndarray, predicted: np.ndarray, positive: int) -> float:
    """F1 of one class; zero when it is neither present nor predicted."""
    hits = int(((labels == positive) & (predicted == positive)).sum())
    total = int((labels == positive).sum() + (predicted == positive).sum())
    return 2 * hits / total if total else 0.0


def f1_macro(labels: np.ndarray, predicted: np.ndarray) -> float:
    """The mean of every present class's F1."""
    present = np.union1d(labels, predicted)
    return float(np.mean([f1_of(labels, predicted, int(c)) for c in present])) if len(present) else float("nan")


def roc_auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """The chance that a positive instance scores above a negative one (ties count half)."""
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    positive = labels == 1
    p, n = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - p * (p + 1) / 2) / (p * n)) if p and n else float("nan")

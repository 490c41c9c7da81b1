"""What may be computed from the rows of findings: the columns that each statistic reads, and what it makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from attentest.papers.rules import MeasureRule
from attentest.statistics.resampling import Statistic, bleus, correlations, f1, means, ratios, roc_auc

__all__ = ["Rows", "rows_of"]


@dataclass(frozen=True)
class Rows:
    """The columns that a statistic reads, its own first, and the figure per seed as a function of the texts drawn."""

    columns: tuple[str, ...]
    #: From [seed, instance] values of every column.
    statistic: Callable[..., Statistic] = means
    #: Whether the columns hold classes, −1 where there is none, and not numbers.
    classes: bool = False
    #: What a judged text without a value of its own counts as.
    fill: float | None = None


def rows_of(rule: MeasureRule, column: str) -> Rows:
    """What a measure's statistic reads; ``column`` is the one that the rule or the findings name."""
    if rule.statistic == "mean":
        return Rows((column,))
    predicted, counts = rule.column or "predicted", ("counts", "own_counts")
    known = {
        "f1_positive": Rows((predicted, "label"), lambda value, label: f1(label, value, [1]), classes=True),
        "f1_macro": Rows((predicted, "label"), _f1_macro, classes=True),
        "f1_change": Rows((column, "label", "predicted"), _f1_change, classes=True),
        "accuracy": Rows(("correct",)),
        "f1_micro": Rows(("correct",)),
        "roc_auc": Rows(("probabilities", "label"), lambda value, label: roc_auc(label, value)),
        "correlation": Rows((column, rule.against), correlations),
        "ratio": Rows((column, rule.against), ratios),
        "bleu": Rows(("counts",), bleus),
        "bleu_change": Rows(counts, bleus),
        "bleu_ratio": Rows(counts, partial(bleus, relative=True)),
    }
    return known[rule.statistic]


def _f1_macro(predicted: np.ndarray, labels: np.ndarray) -> Statistic:
    return f1(labels, predicted, sorted({int(c) for c in np.unique(labels) if c >= 0}))


def _f1_change(other: np.ndarray, labels: np.ndarray, predicted: np.ndarray) -> Statistic:
    """F1 of the positive class under other weights, less that under the model's own."""
    under, own = (f1(labels, given, [1]) for given in (other, predicted))
    return lambda weights: under(weights) - own(weights)

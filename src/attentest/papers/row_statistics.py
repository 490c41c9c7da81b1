"""What may be computed from the rows of findings: the columns that each statistic reads, and what it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from attentest.papers.rules import MeasureRule
from attentest.statistics.resampling import Statistic, bleus, correlations, f1, means, ratios, roc_auc

__all__ = ["columns_of", "statistic_of"]

Columns = Mapping[str, np.ndarray]


def columns_of(rule: MeasureRule, column: str) -> tuple[str, ...]:
    """The columns that a statistic reads, its own first; ``column`` is the one that the rule or the findings name."""
    fixed = {
        "f1_positive": (rule.column or "predicted", "label"),
        "f1_macro": (rule.column or "predicted", "label"),
        "f1_change": (column, "label", "predicted"),
        "accuracy": ("correct",),
        "f1_micro": ("correct",),
        "roc_auc": ("probabilities", "label"),
        "correlation": (column, rule.against),
        "ratio": (column, rule.against),
        "bleu": ("counts",),
        "bleu_change": ("counts", "own_counts"),
        "bleu_ratio": ("counts", "own_counts"),
    }
    return fixed.get(rule.statistic, (column,))


def statistic_of(rule: MeasureRule, columns: Columns) -> Statistic:
    """The figure per seed as a function of the instances drawn."""
    return _TABLE.get(rule.statistic, _mean)(rule, columns)


def _mean(rule: MeasureRule, columns: Columns) -> Statistic:
    return means(columns["value"])


def _f1_macro(rule: MeasureRule, columns: Columns) -> Statistic:
    labels = columns["other"]
    return f1(labels, columns["value"], sorted({int(c) for c in np.unique(labels) if c >= 0}))


def _f1_change(columns: Columns) -> Statistic:
    """F1 of the positive class under other weights, less that under the model's own."""
    under, own = (f1(columns["other"], columns[name], [1]) for name in ("value", "own"))
    return lambda weights: under(weights) - own(weights)


def _share(rule: MeasureRule, columns: Columns) -> Statistic:
    value = columns["value"]
    reached = value <= float(rule.at_most or 0.0) if rule.at_least is None else value >= rule.at_least
    return means(np.where(np.isnan(value), np.nan, reached.astype(np.float64)))


_TABLE: Final[Mapping[str, Callable[[MeasureRule, Columns], Statistic]]] = {
    "f1_positive": lambda _, columns: f1(columns["other"], columns["value"], [1]),
    "f1_macro": _f1_macro,
    "f1_change": lambda _, columns: _f1_change(columns),
    "roc_auc": lambda _, columns: roc_auc(columns["other"], columns["value"]),
    "correlation": lambda _, columns: correlations(columns["value"], columns["other"]),
    "ratio": lambda _, columns: ratios(columns["value"], columns["other"]),
    "share": _share,
    "bleu": lambda _, columns: bleus(columns["value"]),
    "bleu_change": lambda _, columns: bleus(columns["value"], columns["other"]),
    "bleu_ratio": lambda _, columns: bleus(columns["value"], columns["other"], relative=True),
}

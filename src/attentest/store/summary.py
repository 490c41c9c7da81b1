"""Summaries are computed from findings, never stored instead of them: every estimate has its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.measures.bootstrap import bootstrap_mean, wilson
from attentest.store.findings import Findings, Measure

__all__ = ["Estimate", "estimate", "estimates_by_class"]


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval, its spread over instances, and how many it stands on."""

    value: float
    low: float
    high: float
    spread: float
    judged: int
    not_judged: int
    method: str

    def __str__(self) -> str:
        if self.judged == 0:
            return "not judged"
        if math.isnan(self.low):
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def estimate(findings: Findings, measure: Measure | str, *, predicted: int | None = None) -> Estimate:
    """One measure over all instances, or over those predicted to be of one class."""
    if isinstance(measure, str):
        measure = findings[measure]
    table = findings.rows(measure.where)
    if predicted is not None:
        table = table.filter(pc.equal(table["predicted"], predicted))
    column = table[measure.column].cast(pa.float64())
    if "not_judged" in table.column_names:
        column = pc.if_else(pc.is_null(table["not_judged"]), column, None)
    values = column.to_numpy()
    values = values[~np.isnan(values)]
    return summarise(values, len(table) - len(values), measure.statistic)


def summarise(values: np.ndarray, not_judged: int, statistic: str = "mean") -> Estimate:
    """The mean of the values with a bootstrap interval, or a fraction with Wilson's."""
    n = len(values)
    spread = float(values.std(ddof=1)) if n > 1 else math.nan
    if statistic == "fraction":
        value, low, high = wilson(int(values.sum()), n)
        return Estimate(value, low, high, spread, n, not_judged, "Wilson 95 %")
    value, low, high = bootstrap_mean(values)
    return Estimate(value, low, high, spread, n, not_judged, "bootstrap 95 %")


def estimates_by_class(findings: Findings, measure: Measure | str) -> dict[int, Estimate]:
    """The measure for every predicted class that occurs."""
    present = sorted(set(findings.table["predicted"].to_pylist()))
    return {c: estimate(findings, measure, predicted=c) for c in present}

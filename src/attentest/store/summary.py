"""Summaries are computed from findings, never stored instead of them: every estimate has its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.measures.bleu import COUNTS, corpus_bleu
from attentest.statistics.bootstrap import bootstrap_mean, bootstrap_of_sums
from attentest.statistics.information import pointwise
from attentest.statistics.intervals import Interval, piled, wilson, wilson_of_mean
from attentest.store.findings import Findings, Measure

__all__ = ["Estimate", "by_sentence", "estimate", "estimates_by_class", "sentences_of", "summarise"]

#: So many standard errors on both sides hold 95 % of a normal distribution.
NORMAL = 1.959964


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
    if measure.statistic in ("bleu", "bleu_change", "ratio"):
        return _of_sums(table, measure)
    if measure.statistic in ("information", "whole"):
        return (_information if measure.statistic == "information" else _whole)(table, measure)
    column = table[measure.column].cast(pa.float64())
    if "not_judged" in table.column_names:
        column = pc.if_else(pc.is_null(table["not_judged"]), column, None)
    values, together, unit = column.to_numpy(), sentences_of(table), "sentence"
    judged = ~np.isnan(values)
    if together is None and measure.together:
        _, texts = np.unique(table[measure.together].to_numpy(), return_inverse=True)
        several = len(np.unique(texts[judged])) < judged.sum()
        together, unit = (texts, "text") if several else (None, unit)
    together = None if together is None else together[judged]
    return summarise(values[judged], len(table) - int(judged.sum()), measure.statistic, together, unit)


def sentences_of(table: pa.Table) -> np.ndarray | None:
    """Which sentence each row is a step of, as numbers from 0; None where rows are not steps of writing."""
    if "sentence" not in table.column_names:
        return None
    return np.asarray(np.unique(table["sentence"].to_numpy(), return_inverse=True)[1])


def by_sentence(values: np.ndarray, sentences: np.ndarray | None) -> np.ndarray:
    """The mean over every sentence's steps, not a number where it has none; the values, where they are not steps."""
    if sentences is None:
        return values
    there, count = ~np.isnan(values), int(sentences.max(initial=-1)) + 1
    totals, sizes = (np.bincount(sentences[there], each, count) for each in (values[there], np.ones(there.sum())))
    means: np.ndarray = np.divide(totals, sizes, out=np.full(count, np.nan), where=sizes > 0)
    return means


def summarise(
    values: np.ndarray,
    not_judged: int,
    statistic: str = "mean",
    together: np.ndarray | None = None,
    unit: str = "sentence",
) -> Estimate:
    """The mean of the values with a bootstrap interval, or a fraction with Wilson's.

    Where most values lie at one end of their scale, the interval of the mean is at least Wilson's for so little spread.

    ``together``: which values belong to one sentence, where they are steps of writing, or to one text (the ``unit``),
    where there are several for each: those are not independent, so whole sentences or texts are drawn, and a fraction
    stands on as many values as would say as much alone (Rao & Scott 1992).
    """
    n = len(values)
    spread = float(values.std(ddof=1)) if n > 1 else math.nan
    if together is not None and n:
        _, text = np.unique(together, return_inverse=True)
        sums = np.stack([np.bincount(text, values), np.bincount(text)], axis=1)
        if statistic == "fraction":
            value, low, high = _wilson_of_sums(sums)
            return Estimate(value, low, high, spread, n, not_judged, f"Wilson 95 %, by {unit}")
        value, low, high = _at_least(bootstrap_of_sums(sums, _ratio), values, sums[:, 0] / sums[:, 1])
        return Estimate(value, low, high, spread, n, not_judged, f"bootstrap 95 %, by {unit}")
    if statistic == "fraction":
        value, low, high = wilson(int(values.sum()), n)
        return Estimate(value, low, high, spread, n, not_judged, "Wilson 95 %")
    value, low, high = _at_least(bootstrap_mean(values), values, values)
    return Estimate(value, low, high, spread, n, not_judged, "bootstrap 95 %")


def _at_least(found: Interval, values: np.ndarray, independent: np.ndarray) -> Interval:
    """The interval, widened where values that are piled up at an end of their scale make it too short."""
    if len(independent) < 2 or (bounds := piled(values)) is None:
        return found
    other = wilson_of_mean(independent, *bounds)
    return Interval(found.value, min(found.low, other.low), max(found.high, other.high))


def _wilson_of_sums(sums: np.ndarray) -> tuple[float, float, float]:
    """A share of steps, [sentence, (yes, all)], with Wilson's interval of the effective number of steps."""
    steps, share = float(sums[:, 1].sum()), float(sums[:, 0].sum() / sums[:, 1].sum())
    # As many as there are sentences, where all steps are alike.
    effective = float(len(sums))
    if 0 < share < 1 and len(sums) > 1:
        residuals = sums[:, 0] - share * sums[:, 1]
        variance = len(sums) / (len(sums) - 1) * float((residuals**2).sum()) / steps**2
        effective = steps / max(1.0, variance * steps / (share * (1 - share)))
    return wilson(share * effective, effective)


def _of_sums(table: pa.Table, measure: Measure) -> Estimate:
    """A measure of sums over texts, not a mean over rows: every resample has sums of its own."""
    judged = table
    if "not_judged" in table.column_names:
        judged = table.filter(pc.is_null(table["not_judged"]))
    columns = (measure.column, measure.against) if measure.against else (measure.column,)
    sums = np.concatenate([_numbers(judged[column]) for column in columns], axis=1)
    rows = len(sums)
    if measure.together:
        _, text = np.unique(judged[measure.together].to_numpy(), return_inverse=True)
        texts = int(text.max(initial=-1)) + 1
        sums = np.stack([np.bincount(text, column, texts) for column in sums.T], axis=1)
    value, low, high = bootstrap_of_sums(sums, _STATISTICS[measure.statistic])
    return Estimate(value, low, high, math.nan, rows, len(table) - rows, "bootstrap 95 %")


def _information(table: pa.Table, measure: Measure) -> Estimate:
    """The mutual information of two columns of labels: the mean over labels of its pointwise value, texts drawn."""
    judged = table.filter(pc.is_null(table["not_judged"])) if "not_judged" in table.column_names else table
    sizes = pc.list_value_length(judged[measure.column]).to_numpy()
    labels = [pc.list_flatten(judged[column]).to_numpy() for column in (measure.column, measure.against)]
    text = np.repeat(np.arange(len(judged)), sizes)
    sums = np.stack([np.bincount(text, pointwise(*labels), len(judged)), sizes], axis=1)
    value, low, high = bootstrap_of_sums(sums, _ratio)
    return Estimate(value, low, high, math.nan, len(judged), len(table) - len(judged), "bootstrap 95 %")


def _whole(table: pa.Table, measure: Measure) -> Estimate:
    """One number of a corpus, with a normal interval where its standard error is known."""
    judged = table.filter(pc.is_valid(table[measure.column]))
    if not len(judged):
        return Estimate(math.nan, math.nan, math.nan, math.nan, 0, len(table), "")
    value = float(judged[measure.column][0].as_py())
    error = judged[measure.against][0].as_py() if measure.against else None
    reach = math.nan if error is None else NORMAL * error
    counts = len(judged), len(table) - len(judged)
    return Estimate(value, value - reach, value + reach, math.nan, *counts, "normal 95 %" if measure.against else "")


def _numbers(column: pa.ChunkedArray) -> np.ndarray:
    """A column as [row, number]: one number a row, or a list of as many in every row."""
    if pa.types.is_list(column.type):
        flat = pc.list_flatten(column).to_numpy()
        return np.asarray(flat, dtype=np.float64).reshape(len(column), -1 if len(column) else 0)
    return np.asarray(column.cast(pa.float64()).to_numpy())[:, None]


def _ratio(sums: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: np.ndarray = sums[..., 0] / sums[..., 1]
    return ratio


def _bleu_change(sums: np.ndarray) -> np.ndarray:
    change: np.ndarray = corpus_bleu(sums[..., :COUNTS]) - corpus_bleu(sums[..., COUNTS:])
    return change


_STATISTICS = {"ratio": _ratio, "bleu": corpus_bleu, "bleu_change": _bleu_change}


def estimates_by_class(findings: Findings, measure: Measure | str) -> dict[int, Estimate]:
    """The measure for every predicted class that occurs; rows of whole translations have none."""
    present = sorted(set(pc.drop_null(findings.table["predicted"]).to_pylist()))
    return {c: estimate(findings, measure, predicted=c) for c in present}

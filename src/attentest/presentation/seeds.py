"""Models that differ in nothing but their seed: the yardstick of every test that trains other models."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from attentest.presentation.line import Tone
from attentest.statistics.bootstrap import resampled_means
from attentest.statistics.intervals import student
from attentest.store.findings import Findings
from attentest.store.summary import Estimate, estimate

__all__ = [
    "F1",
    "MACRO",
    "RIGHT",
    "Seeds",
    "by_seed",
    "estimated",
    "judged_rows",
    "scores",
    "with_resamples",
    "with_seeds",
    "within_seed_variance",
]

#: The columns of ``scores``: accuracy, macro F1, and F1 of the second class.
RIGHT, MACRO, F1 = 0, 1, 2
#: Fewer models than this say nothing of how far two lie apart.
FEWEST_SEEDS = 3


def judged_rows(table: pa.Table) -> pa.Table:
    """The rows that were judged."""
    return table.filter(pc.is_null(table["not_judged"]))


def by_seed(table: pa.Table, column: str) -> np.ndarray:
    """A column of lists as an array: texts, and other seeds."""
    flat: np.ndarray = pc.list_flatten(table[column]).to_numpy()
    return flat.reshape(len(table), -1) if len(table) else flat.reshape(0, 0)


def scores(labels: np.ndarray, predicted: np.ndarray, *, resample: bool = True) -> np.ndarray:
    """Accuracy, macro F1 and F1 of the second class of models, [1 + resample, model, score].

    The first row is of the texts themselves, every other one of texts drawn with replacement, the same for all models.
    """
    models = predicted.shape[1]
    classes = np.union1d(labels, predicted)
    gold, given = labels[:, None] == classes, predicted[:, :, None] == classes
    parts = (gold, given.reshape(len(labels), -1), (given & gold[:, None]).reshape(len(labels), -1))
    values = np.concatenate(parts, axis=1).astype(np.float64)
    means = with_resamples(values) if resample else values.mean(0)[None]
    of_gold, rest = means[:, None, : len(classes)], means[:, len(classes) :].reshape(len(means), 2, models, -1)
    share, hit = rest[:, 0], rest[:, 1]
    total = of_gold + share
    each = np.divide(2 * hit, total, out=np.zeros_like(hit), where=total > 0)
    macro = each.sum(-1) / np.maximum((total > 0).sum(-1), 1)
    second = each[..., classes == 1].sum(-1)
    return np.stack([hit.sum(-1), macro, second], axis=-1)


def with_resamples(values: np.ndarray) -> np.ndarray:
    """The means of every column, and below them those over texts drawn with replacement."""
    return np.concatenate([values.mean(0)[None], resampled_means(values)])


def estimated(drawn: np.ndarray, judged: int, not_judged: int = 0) -> Estimate:
    """The first number, with the interval that the others span."""
    low, high = np.quantile(drawn[1:], [0.025, 0.975]) if judged > 1 else (math.nan, math.nan)
    return Estimate(float(drawn[0]), float(low), float(high), math.nan, judged, not_judged, "bootstrap 95 %")


def with_seeds(findings: Findings, measure: str) -> Estimate:
    """A mean over texts and other seeds; its interval is over both, where the findings keep every seed apart."""
    column = f"{measure}_by_seed"
    table = judged_rows(findings.table)
    each = by_seed(table, column) if column in table.column_names else np.zeros((0, 0))
    seeds = each.shape[1]
    if len(each) < 2 or seeds < FEWEST_SEEDS:
        return estimate(findings, measure)
    means = with_resamples(each)
    drawn = np.random.default_rng(0).multinomial(seeds, np.full(seeds, 1 / seeds), size=len(means)) / seeds
    drawn[0] = 1 / seeds
    return estimated((means * drawn).sum(1), len(table), len(findings.table) - len(table))


@dataclass(frozen=True)
class Seeds:
    """How far models lie apart that differ in nothing but their seed."""

    #: Accuracy, macro F1 and F1 of the second class of every model, the audited one first.
    scores: np.ndarray
    #: Mean TVD of predictions and JSD of attention between the audited model and each other one.
    each_tvd: np.ndarray
    each_jsd: np.ndarray
    tvd: Estimate
    jsd: Estimate

    @classmethod
    def of(cls, seed_variance: Findings | None) -> Seeds | None:
        """From the findings of ``seed_variance``; None where there are none, or no text was judged."""
        rows = None if seed_variance is None else judged_rows(seed_variance.table)
        if seed_variance is None or rows is None or not len(rows):
            return None
        predicted = np.concatenate([rows["predicted"].to_numpy()[:, None], by_seed(rows, "predicted_by_seed")], axis=1)
        return cls(
            scores(rows["label"].to_numpy(), predicted, resample=False)[0],
            by_seed(rows, "prediction_tvd_by_seed").mean(0),
            by_seed(rows, "attention_jsd_by_seed").mean(0),
            estimate(seed_variance, "prediction_tvd"),
            estimate(seed_variance, "attention_jsd"),
        )

    @property
    def others(self) -> int:
        """How many models there are beside the audited one."""
        return len(self.scores) - 1

    def apart(self, score: int = RIGHT) -> float:
        """How far two models of different seeds lie apart at most, in 95 % of cases; not a number for very few."""
        models = len(self.scores)
        if models < FEWEST_SEEDS:
            return math.nan
        return float(student(models - 1) * math.sqrt(2) * self.scores[:, score].std(ddof=1))


def within_seed_variance(tone: Tone, found: Estimate, seeds: Seeds | None) -> tuple[Tone, str]:
    """A difference that another seed could make speaks for nothing, however sure it is of these two models."""
    apart = math.nan if seeds is None else seeds.apart()
    if tone not in ("supports", "mixed") or not found.value <= apart:
        return tone, ""
    words = f"The difference is within seed variance ({apart:.3f} in accuracy, 95 % of pairs): more seeds would tell."
    return "unsettled", words

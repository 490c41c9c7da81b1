"""Intervals over seeds and instances: both are drawn again, instances the same for every seed and every model.

A statistic is a function of how often each instance is drawn, so that all resamples are one product of matrices.
The draws of instances depend on the instances alone, so that two numbers about the same texts are compared on the
same resamples; the draws of seeds depend on the claim.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.stats import rankdata

from attentest.measures.bleu import corpus_bleu
from attentest.statistics.bootstrap import draws
from attentest.statistics.intervals import Interval

__all__ = [
    "RESAMPLES",
    "Sample",
    "bleus",
    "contrast",
    "correlations",
    "difference",
    "f1",
    "interval",
    "means",
    "ratios",
    "reach",
    "rescaled",
    "roc_auc",
]

RESAMPLES = 1000
_AT_ONCE = 1 << 22  # draws made at once, so that memory does not grow with instances × resamples

#: From the number of draws of each instance [resample, instance] to a figure per seed [resample, seed].
Statistic = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Sample:
    """One figure per seed, as a function of the instances drawn."""

    ids: tuple[str, ...]
    seeds: tuple[int, ...]
    statistic: Statistic
    #: Texts that the figure stands on and does not, over all seeds.
    judged: int
    not_judged: int
    #: Standard deviation over instances, averaged over seeds; NaN where it has no meaning.
    spread: float = math.nan
    #: Texts that the figure of every seed stands on; none: not counted.
    by_seed: tuple[int, ...] = ()
    #: Which text each instance is drawn with, such as the sentence that it is a step of; none: each by itself.
    texts: tuple[str, ...] = ()

    @property
    def text_of(self) -> dict[str, str]:
        """The text of every instance."""
        return dict(zip(self.ids, self.texts or self.ids, strict=True))

    @property
    def per_seed(self) -> np.ndarray:
        """The figure of every seed."""
        return np.asarray(self.statistic(np.ones((1, len(self.ids))))[0])


def interval(sample: Sample, key: str) -> Interval:
    """The mean over seeds with its hierarchical bootstrap interval."""
    drawn = _resampled(sample, sample.text_of, key)
    return _summary(float(np.mean(sample.per_seed)), drawn)


def difference(left: Sample, right: Sample, key: str, *, same_model: bool) -> Interval:
    """left − right on the same resampled instances; the same seeds are drawn for both where they are one model's."""
    texts = _together(left, right)
    other = key if same_model else f"{key} | right"
    drawn = _resampled(left, texts, key) - _resampled(right, texts, other)
    return _summary(float(np.mean(left.per_seed) - np.mean(right.per_seed)), drawn)


def rescaled(sample: Sample, factor: float) -> Sample:
    """The same figures in another unit."""
    return replace(sample, statistic=lambda weights: factor * sample.statistic(weights))


def contrast(left: Sequence[Sample], right: Sequence[Sample], key: str) -> Interval:
    """The mean of some figures − the mean of others, each of texts of its own, all of them drawn again."""
    drawn, value = np.zeros(RESAMPLES), 0.0
    for sign, samples in ((1.0, left), (-1.0, right)):
        for number, sample in enumerate(samples):
            share = sign / len(samples)
            drawn = drawn + share * _resampled(sample, sample.text_of, f"{key} | {sign:+.0f} | {number}")
            value += share * float(np.mean(sample.per_seed))
    return _summary(value, drawn)


def _summary(value: float, drawn: np.ndarray) -> Interval:
    usable = drawn[np.isfinite(drawn)]
    # A resample without a judged instance says nothing; when that is common, there is no interval to give.
    if len(usable) < 0.9 * len(drawn):
        return Interval(value, math.nan, math.nan)
    low, high = np.quantile(usable, [0.025, 0.975])
    return Interval(value, float(low), float(high))


def _together(*samples: Sample) -> dict[str, str]:
    """The instances of all samples, in order, and the text that each is drawn with."""
    texts = {name: text for sample in samples for name, text in sample.text_of.items()}
    return {name: texts[name] for name in sorted(texts)}


def _resampled(sample: Sample, texts: Mapping[str, str], key: str) -> np.ndarray:
    """The figure in every resample of these instances and their texts."""
    generator = np.random.default_rng(_seed(key))
    count = len(sample.seeds)
    chosen = generator.multinomial(count, np.full(count, 1 / count), size=RESAMPLES) / count
    weights = draws_of_instances(tuple(texts), tuple(texts.values()))
    if sample.ids != tuple(texts):
        place = {name: i for i, name in enumerate(texts)}
        weights = weights[:, [place[name] for name in sample.ids]]
    figures = sample.statistic(weights)
    # A seed that was not drawn must not spoil the mean with its NaN.
    return np.asarray(np.where(chosen > 0, chosen * figures, 0.0).sum(1))


@lru_cache(maxsize=2)
def draws_of_instances(ids: tuple[str, ...], texts: tuple[str, ...]) -> np.ndarray:
    """How often each instance is drawn in each resample; those of one text are drawn together."""
    if ids != texts:
        drawn, place = np.unique(texts, return_inverse=True)
        whole = tuple(map(str, drawn))
        return np.asarray(draws_of_instances(whole, whole)[:, place])
    size = len(ids)
    generator = np.random.default_rng(_seed("\n".join(sorted(ids))))
    most = max(1, _AT_ONCE // max(size, 1))
    return np.concatenate([counts.astype(np.float64) for counts in draws(size, RESAMPLES, generator, most)])


def _seed(key: str) -> int:
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big")


def means(values: np.ndarray) -> Statistic:
    """The mean of [seed, instance] values; NaN is no value."""
    there = np.isfinite(values)
    return _sums(_ratio, np.where(there, values, 0.0), there)


def f1(labels: np.ndarray, predicted: np.ndarray, classes: Sequence[int]) -> Statistic:
    """F1 averaged over classes, from [seed, instance] labels and predictions (−1: not there)."""
    there = predicted >= 0
    hits = [(labels == c) & (predicted == c) & there for c in classes]
    sizes = [((labels == c) & there).astype(np.float64) + (predicted == c) for c in classes]

    def averaged(*sums: np.ndarray) -> np.ndarray:
        # A class that is neither present nor predicted has F1 0, as in statistics.performance.
        each = [np.nan_to_num(_ratio(2 * h, n)) for h, n in zip(sums[: len(hits)], sums[len(hits) :], strict=True)]
        return np.asarray(np.mean(each, axis=0))

    return _sums(averaged, *hits, *sizes)


def roc_auc(labels: np.ndarray, scores: np.ndarray) -> Statistic:
    """ROC-AUC of [seed, instance] scores of class 1 (NaN: not there); ties count half.

    With every instance drawn once it is exact; in resamples it is its first-order expansion in the instances'
    placements (DeLong et al. 1988).
    """
    there = np.isfinite(scores)
    positive, negative = there & (labels == 1), there & (labels != 1)
    placed = np.zeros(scores.shape)
    for row, score, above, below in zip(placed, scores, positive, negative, strict=True):
        row[above] = _placement(score[above], score[below])
        row[below] = 1 - _placement(score[below], score[above])
    whole = _ratio((placed * positive).sum(1), positive.sum(1))

    def expanded(*sums: np.ndarray) -> np.ndarray:
        return np.asarray(_ratio(sums[0], sums[1]) + _ratio(sums[2], sums[3]) - whole)

    return _sums(expanded, placed * positive, positive, placed * negative, negative)


def _placement(of: np.ndarray, among: np.ndarray) -> np.ndarray:
    """The share of ``among`` that each of ``of`` lies above, ties counted half."""
    ordered = np.sort(among)
    both = np.searchsorted(ordered, of, "left") + np.searchsorted(ordered, of, "right")
    return np.asarray(both / (2 * max(len(among), 1)))


def correlations(first: np.ndarray, second: np.ndarray) -> Statistic:
    """Pearson correlation of the [seed, instance] ranks, which are taken once over all instances."""
    there = np.isfinite(first) & np.isfinite(second)
    x, y = (np.where(there, _ranks(np.where(there, v, np.nan)), 0.0) for v in (first, second))

    def correlated(*sums: np.ndarray) -> np.ndarray:
        n, sx, sy, sxx, syy, sxy = sums
        variance = (n * sxx - sx**2) * (n * syy - sy**2)
        return _ratio(n * sxy - sx * sy, np.sqrt(np.maximum(variance, 0)))

    return _sums(correlated, there, x, y, x * x, y * y, x * y)


def ratios(values: np.ndarray, others: np.ndarray) -> Statistic:
    """The sum of [seed, instance] values over the sum of others, where both are there."""
    there = np.isfinite(values) & np.isfinite(others)
    return _sums(_ratio, np.where(there, values, 0.0), np.where(there, others, 0.0))


def bleus(counts: np.ndarray, own: np.ndarray | None = None, *, relative: bool = False) -> Statistic:
    """BLEU of [seed, instance, 10] counts, or its change from that of the own ones, in points or as a share of it."""

    def score(given: np.ndarray, weights: np.ndarray) -> np.ndarray:
        seeds, instances, width = given.shape
        flat = np.nan_to_num(given).transpose(1, 0, 2).reshape(instances, seeds * width)
        return np.asarray(corpus_bleu((weights @ flat).reshape(len(weights), seeds, width)))

    def statistic(weights: np.ndarray) -> np.ndarray:
        found = score(counts, weights)
        if own is None:
            return found
        before = score(own, weights)
        return _ratio(found - before, before) if relative else found - before

    return statistic


def reach(curve: Sequence[tuple[Sample, Sample]], bound: Sample | float) -> Sample:
    """The largest gain on a curve of (gain, cost) whose cost is within the bound; not a number where no point's is.

    Every resample chooses its point anew, so that choosing it is part of the interval.
    """
    gains = [gain for gain, _ in curve]
    others = [cost for _, cost in curve] + ([bound] if isinstance(bound, Sample) else [])
    texts = _together(*gains, *others)
    ids = tuple(texts)
    place = {name: i for i, name in enumerate(ids)}

    def figures(sample: Sample, weights: np.ndarray) -> np.ndarray:
        return sample.statistic(weights[:, [place[name] for name in sample.ids]])

    def statistic(weights: np.ndarray) -> np.ndarray:
        most = figures(bound, weights) if isinstance(bound, Sample) else bound
        each = [np.where(figures(cost, weights) <= most, figures(gain, weights), -np.inf) for gain, cost in curve]
        best = np.max(each, axis=0)
        return np.where(np.isneginf(best), np.nan, best)

    judged, not_judged = min(s.judged for s in (*gains, *others)), max(s.not_judged for s in (*gains, *others))
    return Sample(ids, gains[0].seeds, statistic, judged, not_judged, texts=tuple(texts.values()))


def _sums(combine: Callable[..., np.ndarray], *parts: np.ndarray) -> Statistic:
    """A function of weighted sums over instances, all taken in one product."""
    seeds = len(parts[0])
    stacked = np.concatenate(parts).astype(np.float64).T

    def statistic(weights: np.ndarray) -> np.ndarray:
        summed = weights @ stacked
        return combine(*(summed[:, i : i + seeds] for i in range(0, seeds * len(parts), seeds)))

    return statistic


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from −½ to ½ within each row, ties averaged; NaN stays NaN."""
    known = np.isfinite(values).sum(1, keepdims=True)
    ranks: np.ndarray = (rankdata(values, axis=1, nan_policy="omit") - 0.5) / np.maximum(known, 1) - 0.5
    return ranks


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=below > 0))

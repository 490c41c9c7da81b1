"""Agreement: Cohen's κ of every pair, Fleiss' κ and Krippendorff's α of all, with intervals over items.

The numbers are scikit-learn's, statsmodels' and krippendorff's; here items are drawn again around them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations

import numpy as np

from attentest.errors import InputError
from attentest.people.results.answered import Answered
from attentest.statistics.intervals import Interval

__all__ = ["Agreement", "PairAgreement", "agreement", "cohen", "fleiss", "krippendorff_alpha"]

#: Resamples of items of one number, and of all pairs together.
RESAMPLES, ALL_PAIRS = 1000, 10_000


@dataclass(frozen=True)
class PairAgreement:
    """How far two people agree on the items that both answered."""

    first: str
    second: str
    items: int
    same: float
    kappa: Interval


@dataclass(frozen=True)
class Agreement:
    """How far people agree: pairs, and all of them; NaN where it has no meaning."""

    pairs: tuple[PairAgreement, ...]
    #: The mean over pairs of Cohen's κ.
    cohen: Interval
    #: Over the items that the largest number of people answered.
    fleiss: Interval
    fleiss_items: int
    fleiss_people: int
    alpha: Interval
    #: Items that at least two people answered.
    items: int


def needs() -> None:
    """Refuse in one line where a library is missing."""
    missing = [name for name in ("statsmodels", "krippendorff") if not _installed(name)]
    if missing:
        raise InputError(f"Agreement needs {' and '.join(missing)}: pip install 'attentest[people]'.")


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ValueError:  # it is there, and not as a module
        return False


def cohen(first: np.ndarray, second: np.ndarray, values: int) -> float:
    """Cohen's κ of two people's codes; NaN where both always answered the same."""
    from sklearn.metrics import cohen_kappa_score

    if not len(first) or len(set(first) | set(second)) < 2:
        return math.nan
    return float(cohen_kappa_score(first, second, labels=range(values)))


def fleiss(counts: np.ndarray) -> float:
    """Fleiss' κ of counts [item, value]; NaN where everybody always answered the same."""
    from statsmodels.stats.inter_rater import fleiss_kappa

    if not len(counts) or (counts.sum(0) > 0).sum() < 2:
        return math.nan
    return float(fleiss_kappa(counts[:, counts.sum(0) > 0]))


def krippendorff_alpha(counts: np.ndarray) -> float:
    """Krippendorff's α of counts [item, value], nominal; items with one answer do not count."""
    from krippendorff import alpha

    several = counts[counts.sum(1) > 1]
    if not len(several) or (several.sum(0) > 0).sum() < 2:
        return math.nan
    return float(alpha(value_counts=several, level_of_measurement="nominal"))


def agreement(found: Answered, seed: int = 0) -> Agreement:
    """Agreement on the items that count, by the answers as they were given."""
    needs()
    values = sorted({str(choice) for choice in found.choices.ravel() if choice != ""})
    codes = np.full(found.choices.shape, -1)
    for code, value in enumerate(values):
        codes[found.choices == value] = code
    counts = np.stack([(codes == code).sum(0) for code in range(len(values))], axis=1) if values else np.zeros((0, 1))
    pairs = _pairs(found.people, codes, len(values), seed)
    several = counts[counts.sum(1) > 1]
    most = int(several.sum(1).max(initial=0))
    whole = several[several.sum(1) == most] if most else several
    return Agreement(
        pairs=pairs,
        cohen=_mean_of_pairs(found, codes, len(values), seed),
        fleiss=_drawn(lambda rows: fleiss(whole[rows]), len(whole), seed),
        fleiss_items=len(whole),
        fleiss_people=most,
        alpha=_drawn(lambda rows: krippendorff_alpha(several[rows]), len(several), seed),
        items=len(several),
    )


def _pairs(people: tuple[str, ...], codes: np.ndarray, values: int, seed: int) -> tuple[PairAgreement, ...]:
    found = []
    every = list(combinations(range(len(people)), 2))
    resamples = max(100, min(RESAMPLES, ALL_PAIRS // max(len(every), 1)))
    for a, b in every:
        both = (codes[a] >= 0) & (codes[b] >= 0)
        first, second = codes[a][both], codes[b][both]
        kappa = _drawn_table(first, second, values, seed, resamples)
        same = float((first == second).mean()) if both.any() else math.nan
        found.append(PairAgreement(people[a], people[b], int(both.sum()), same, kappa))
    return tuple(found)


def _drawn_table(first: np.ndarray, second: np.ndarray, values: int, seed: int, resamples: int) -> Interval:
    """κ of a pair. Resamples are tables of counts, for which statsmodels gives the same number at once."""
    from statsmodels.stats.inter_rater import cohens_kappa

    value = cohen(first, second, values)
    if math.isnan(value):
        return Interval(value, math.nan, math.nan)
    cells = first * values + second
    generator, found = np.random.default_rng(seed), []
    for _ in range(resamples):
        drawn = np.bincount(cells[generator.integers(len(cells), size=len(cells))], minlength=values * values)
        table = drawn.reshape(values, values)
        if ((table.sum(0) + table.sum(1)) > 0).sum() > 1:
            found.append(float(cohens_kappa(table, return_results=False)))
    return _between(value, found)


def _mean_of_pairs(found: Answered, codes: np.ndarray, values: int, seed: int) -> Interval:
    """The mean over pairs; the same items are drawn for all pairs."""
    from statsmodels.stats.inter_rater import cohens_kappa

    every = list(combinations(range(len(found.people)), 2))
    resamples = max(100, min(RESAMPLES, ALL_PAIRS // max(len(every), 1)))

    def mean(weights: np.ndarray) -> float:
        kappas = []
        for a, b in every:
            both = (codes[a] >= 0) & (codes[b] >= 0)
            cells = codes[a][both] * values + codes[b][both]
            table = np.bincount(cells, weights[both], minlength=values * values).reshape(values, values)
            if ((table.sum(0) + table.sum(1)) > 0).sum() > 1:
                kappas.append(float(cohens_kappa(table, return_results=False)))
        return float(np.mean(kappas)) if kappas else math.nan

    items = codes.shape[1]
    if not every or not values:
        return Interval(math.nan, math.nan, math.nan)
    generator = np.random.default_rng(seed)
    drawn = (generator.multinomial(items, np.full(items, 1 / items)).astype(float) for _ in range(resamples))
    return _between(mean(np.ones(items)), [mean(weights) for weights in drawn])


def _drawn(statistic: Callable[[np.ndarray], float], items: int, seed: int) -> Interval:
    """A number of items, and its interval over them."""
    if not items:
        return Interval(math.nan, math.nan, math.nan)
    generator = np.random.default_rng(seed)
    value = statistic(np.arange(items))
    if math.isnan(value):
        return Interval(value, math.nan, math.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a resample in which all answers are alike
        drawn = [statistic(generator.integers(items, size=items)) for _ in range(RESAMPLES)]
    return _between(value, drawn)


def _between(value: float, drawn: list[float]) -> Interval:
    """The interval of what was drawn; none where a tenth or more of it has no meaning."""
    usable = np.array([each for each in drawn if math.isfinite(each)])
    if math.isnan(value) or len(usable) < 0.9 * max(len(drawn), 1):
        return Interval(value, math.nan, math.nan)
    low, high = np.quantile(usable, [0.025, 0.975])
    return Interval(value, min(float(low), value), max(float(high), value))

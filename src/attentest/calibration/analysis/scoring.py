"""How well each test tells faithful attention from unfaithful: AUROC, sensitivity, what fools it, and along dials."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from attentest.calibration.analysis.fitting import CLEAR
from attentest.calibration.analysis.literature import test_of
from attentest.calibration.analysis.table import Table
from attentest.statistics.clusters import Cells, cell_weights, clustered_auroc, clustered_share, weighted_auroc
from attentest.statistics.intervals import Interval

__all__ = [
    "Curve",
    "Dose",
    "Fooled",
    "Score",
    "curve",
    "doses",
    "fooled_by",
    "order_agrees",
    "redundant",
    "score",
    "scores",
    "spearman",
]

NOTHING = Interval(math.nan, math.nan, math.nan)
#: Tests whose ranks over members correlate by so much say the same.
SAME = 0.9
#: A score needs so many clear members of either kind; a dial so many steps, and so much truth between them.
FEWEST, STEPS, REACH = 5, 3, 0.2


@dataclass(frozen=True)
class Score:
    """One measure and one truth."""

    measure: str
    truth: str
    #: 1: higher is more faithful, as the paper has it; −1: lower is; 0: learnt from other mechanisms.
    direction: int
    members: int
    mechanisms: int
    #: AUROC of the clearly faithful against the clearly unfaithful; and of those between, from and below one half.
    extremes: Interval
    between: Interval
    #: With the cut of the other mechanisms: the share of the clearly faithful, or unfaithful, that is told rightly.
    sensitivity: Interval
    specificity: Interval

    @property
    def near_chance(self) -> bool:
        """Whether it may be as good as a coin."""
        return bool(self.extremes.low <= 0.5 <= self.extremes.high)


@dataclass(frozen=True)
class _Members:
    """The members that have a measure and a truth."""

    values: np.ndarray
    truth: np.ndarray
    mechanism: np.ndarray
    world: np.ndarray

    @classmethod
    def of(cls, table: Table, measure: str, truth: str) -> _Members:
        values, known = table.column(measure), table.truth(truth)
        there = np.isfinite(values) & np.isfinite(known)
        return cls(values[there], known[there], table.names("mechanism")[there], table.names("world")[there])

    def __getitem__(self, rows: np.ndarray) -> _Members:
        return _Members(self.values[rows], self.truth[rows], self.mechanism[rows], self.world[rows])

    @property
    def clear(self) -> _Members:
        return self[(self.truth <= CLEAR[0]) | (self.truth >= CLEAR[1])]

    @property
    def faithful(self) -> np.ndarray:
        return np.asarray(self.truth >= 0.5)

    @property
    def weights(self) -> np.ndarray:
        """Every cell of either side counts alike."""
        cells = np.array([f"{m}\n{w}" for m, w in zip(self.mechanism, self.world, strict=True)], dtype=object)
        weights = np.zeros(len(self.values))
        for side in (self.faithful, ~self.faithful):
            weights[side] = cell_weights(cells[side])
        return weights

    @property
    def told(self) -> bool:
        """Whether there are enough of either side."""
        return min(int(self.faithful.sum()), int((~self.faithful).sum())) >= FEWEST


def _oriented(members: _Members, direction: int) -> np.ndarray:
    """Values of which higher is more faithful; the direction, where no paper gives it, is that of other mechanisms."""
    if direction:
        return np.asarray(direction * members.values)
    found, clear = members.values.copy(), members.clear
    for mechanism in set(members.mechanism.tolist()):
        others = clear[clear.mechanism != mechanism]
        area = weighted_auroc(others.faithful, others.values, others.weights)
        if area < 0.5:
            found[members.mechanism == mechanism] *= -1
    return found


def score(table: Table, measure: str, truth: str) -> Score:
    """A measure's score for a truth."""
    direction = test_of(measure)[1]
    members = _Members.of(table, measure, truth)
    members = _Members(_oriented(members, direction), members.truth, members.mechanism, members.world)
    clear = members.clear
    between = members[(members.truth > CLEAR[0]) & (members.truth < CLEAR[1])]
    sensitivity = specificity = NOTHING
    if clear.told:
        right = _told_faithful(clear) == clear.faithful
        sensitivity, specificity = (
            clustered_share(right[side], clear.mechanism[side]) for side in (clear.faithful, ~clear.faithful)
        )
    return Score(
        measure,
        truth,
        direction,
        len(clear.values),
        len(set(clear.mechanism.tolist())),
        _auroc(clear),
        _auroc(between),
        sensitivity,
        specificity,
    )


def scores(table: Table, truth: str, measures: Sequence[str] | None = None) -> list[Score]:
    """All measures that enough members have, from the best to the worst."""
    found = [score(table, measure, truth) for measure in measures or table.measures]
    return sorted((one for one in found if not math.isnan(one.extremes.value)), key=lambda one: -one.extremes.value)


@dataclass(frozen=True)
class Curve:
    """A measure's ROC curve for a truth, and the clear members that it is made of."""

    #: The share of the clearly unfaithful, and of the clearly faithful, at or above each cut; cells count alike.
    false: np.ndarray
    true: np.ndarray
    #: By member: its row in the table, and its value, of which higher is more faithful.
    rows: np.ndarray
    values: np.ndarray
    faithful: np.ndarray


def curve(table: Table, measure: str, truth: str) -> Curve:
    """The curve whose area is the AUROC of the extremes."""
    members = _Members.of(table, measure, truth)
    there = np.flatnonzero(np.isfinite(table.column(measure)) & np.isfinite(table.truth(truth)))
    members = _Members(_oriented(members, test_of(measure)[1]), members.truth, members.mechanism, members.world)
    clear = (members.truth <= CLEAR[0]) | (members.truth >= CLEAR[1])
    kept = members[clear]
    cuts, place = np.unique(-kept.values, return_inverse=True)
    shares = []
    for side in (~kept.faithful, kept.faithful):
        counts = np.bincount(place[side], kept.weights[side], len(cuts))
        shares.append(np.concatenate([[0.0], np.cumsum(counts) / max(counts.sum(), 1e-300)]))
    return Curve(shares[0], shares[1], there[clear], kept.values, kept.faithful)


def _auroc(members: _Members) -> Interval:
    if not members.told:
        return NOTHING
    return clustered_auroc(members.faithful, members.values, members.mechanism, members.world)


def _told_faithful(clear: _Members) -> np.ndarray:
    """Which clear members lie at or above the cut of the other mechanisms."""
    told = np.zeros(len(clear.values), dtype=bool)
    for mechanism in set(clear.mechanism.tolist()):
        inside = clear.mechanism == mechanism
        told[inside] = clear.values[inside] >= _cut(clear[~inside])
    return told


def _cut(members: _Members) -> float:
    """The cut with the best balanced accuracy, halfway between two values; cells count alike."""
    faithful, weights = members.faithful, members.weights
    if not faithful.any() or faithful.all():
        return math.nan
    values, place = np.unique(members.values, return_inverse=True)
    own = np.bincount(place, weights * faithful, len(values)) / weights[faithful].sum()
    other = np.bincount(place, weights * ~faithful, len(values)) / weights[~faithful].sum()
    # Below each value: its own side that is lost, and the other side that is told.
    gain = np.concatenate([[0.0], np.cumsum(other - own)])
    best = int(gain.argmax())
    ends = np.concatenate([[-math.inf], (values[1:] + values[:-1]) / 2, [math.inf]])
    return float(ends[best])


@dataclass(frozen=True)
class Fooled:
    """A mechanism of which a test tells clear members wrongly."""

    measure: str
    mechanism: str
    wrong: int
    members: int
    faithful: bool


def fooled_by(table: Table, measure: str, truth: str) -> list[Fooled]:
    """The mechanisms of which most clear members of one kind are told wrongly, those with most errors first."""
    members = _Members.of(table, measure, truth)
    values = _oriented(members, test_of(measure)[1])
    clear = _Members(values, members.truth, members.mechanism, members.world).clear
    if not clear.told:
        return []
    wrong = _told_faithful(clear) != clear.faithful
    found = []
    for mechanism in sorted(set(clear.mechanism.tolist())):
        for faithful in (True, False):
            inside = (clear.mechanism == mechanism) & (clear.faithful == faithful)
            if inside.any() and wrong[inside].mean() > 0.5:
                found.append(Fooled(measure, mechanism, int(wrong[inside].sum()), int(inside.sum()), faithful))
    return sorted(found, key=lambda one: -one.wrong)


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's ρ over what both have; not a number where one of them does not vary."""
    both = np.isfinite(first) & np.isfinite(second)
    x, y = (rankdata(values[both]) for values in (first, second))
    if both.sum() < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan
    return float(np.corrcoef(x, y)[0, 1])


def redundant(table: Table, measures: Sequence[str], same: float = SAME) -> list[list[str]]:
    """Groups of measures every two of which rank members alike, or the other way round; larger groups first."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    columns = [table.column(measure) for measure in measures]
    if len(columns) < 2:
        return []
    apart = np.array([[1 - abs(spearman(a, b)) if a is not b else 0.0 for b in columns] for a in columns])
    apart = np.nan_to_num(apart, nan=1.0).clip(0, 1)
    labels = fcluster(linkage(squareform(apart, checks=False), "complete"), 1 - same + 1e-9, "distance")
    groups = [[m for m, label in zip(measures, labels, strict=True) if label == one] for one in sorted(set(labels))]
    return sorted((group for group in groups if len(group) > 1), key=lambda group: -len(group))


@dataclass(frozen=True)
class Dose:
    """Spearman's ρ of a measure and the truth along dials: the mean over dials, and how many there are."""

    measure: str
    truth: str
    mean: Interval
    dials: int


def doses(table: Table, measure: str, truth: str) -> Dose:
    """How a measure follows the truth along each dial of a mechanism in a world."""
    rows = list(_along_dials(table, measure, truth))
    if not rows:
        return Dose(measure, truth, NOTHING, 0)
    mechanisms, worlds, found = zip(*rows, strict=True)
    together = Cells(np.array(mechanisms, dtype=object), np.array(worlds, dtype=object))
    sums = np.bincount(together.of, found, together.count)
    sizes = np.bincount(together.of, minlength=together.count)
    drawn = (together.drawn @ sums) / (together.drawn @ sizes)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Dose(measure, truth, Interval(float(np.mean(found)), float(low), float(high)), len(found))


def _along_dials(table: Table, measure: str, truth: str) -> Iterator[tuple[str, str, float]]:
    values, known = test_of(measure)[1] * table.column(measure), table.truth(truth)
    if not test_of(measure)[1]:
        values = table.column(measure)
    there = np.isfinite(values) & np.isfinite(known)
    for mechanism, world, rows in table.dials:
        inside = rows[there[rows]]
        if len(np.unique(known[inside])) >= STEPS and np.ptp(known[inside]) >= REACH:
            found = spearman(values[inside], known[inside])
            # A measure that does not move along the dial follows nothing.
            yield mechanism, world, 0.0 if math.isnan(found) else found


def order_agrees(first: Sequence[Score], second: Sequence[Score]) -> tuple[float, int]:
    """Spearman's ρ of the AUROCs of the same measures in two sets of members, and how many measures there are."""
    other = {one.measure: one.extremes.value for one in second}
    both = [(one.extremes.value, other[one.measure]) for one in first if one.measure in other]
    if len(both) < 3:
        return math.nan, len(both)
    a, b = (np.array(column) for column in zip(*both, strict=True))
    return spearman(a, b), len(both)

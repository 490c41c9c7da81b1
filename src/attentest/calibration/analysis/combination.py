"""A rival of the rule: logistic regression over several tests, in which no test may count against its direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from attentest.calibration.analysis.fitting import Evidence, fit_marks
from attentest.calibration.analysis.literature import TRUTHS, test_of
from attentest.calibration.analysis.rule import Marks
from attentest.calibration.analysis.table import Table
from attentest.statistics.clusters import cell_weights

__all__ = ["RIVALS", "Monotone", "combined_answers", "fit_monotone"]

#: Tests of a default audit that are combined with those that decide.
RIVALS = (
    "agreement.attention~gradient.captured",
    "agreement.attention~leave_one_out.captured",
    "agreement.attention~state_erasure.captured",
    "faithfulness.attention.normalised_comprehensiveness",
    "faithfulness.attention.normalised_sufficiency",
    "flip_sets.attention.counted",
    "permutation.flips",
    "uniform.flipped",
    "adversary.upper",
)
#: How strongly weights are pulled to zero.
PENALTY = 0.01
#: The marks that are tried for probabilities.
GRID = np.round(np.arange(0, 101) / 100, 2)


@dataclass(frozen=True)
class Monotone:
    """Weights ≥ 0 of standardised tests, of which higher is more faithful; a missing value is the mean."""

    mean: np.ndarray
    spread: np.ndarray
    weights: np.ndarray
    bias: float

    def chance(self, tests: np.ndarray) -> np.ndarray:
        """The probability of being faithful."""
        return np.asarray(1 / (1 + np.exp(-(self._scaled(tests) @ self.weights + self.bias))))

    def _scaled(self, tests: np.ndarray) -> np.ndarray:
        return np.asarray(np.nan_to_num((tests - self.mean) / self.spread))


def fit_monotone(tests: np.ndarray, faithful: np.ndarray, cells: np.ndarray) -> Monotone:
    """Of these members, [member, test]; cells of either side count alike, and both sides too."""
    empty = np.isnan(tests).all(0)
    filled = np.where(empty, 0.0, tests)
    mean, spread = np.nanmean(filled, 0), np.nanstd(filled, 0)
    spread = np.where(spread > 0, spread, 1.0)
    scaled = np.nan_to_num((filled - mean) / spread)
    share = np.zeros(len(tests))
    for side in (faithful, ~faithful):
        share[side] = cell_weights(cells[side]) / cell_weights(cells[side]).sum() / 2
    sign = np.where(faithful, 1.0, -1.0)

    def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
        margin = sign * (scaled @ beta[1:] + beta[0])
        slope = -share * sign / (1 + np.exp(margin.clip(-500, 500)))
        value = float(share @ np.logaddexp(0, -margin)) + PENALTY * float(beta[1:] @ beta[1:])
        return value, np.concatenate([[slope.sum()], scaled.T @ slope + 2 * PENALTY * beta[1:]])

    bounds = [(None, None)] + [(0.0, None)] * tests.shape[1]
    found = minimize(loss, np.zeros(tests.shape[1] + 1), jac=True, bounds=bounds, method="L-BFGS-B").x
    return Monotone(np.where(empty, 0.0, mean), spread, found[1:], float(found[0]))


def combined_answers(table: Table, use: str, measures: tuple[str, ...]) -> tuple[Evidence, np.ndarray]:
    """What the combination says of every member by a fit, and marks, of the members of other mechanisms.

    The marks are those of probabilities that were held out within the other mechanisms.
    """
    truth = table.truth(TRUTHS[use])
    rows = ~np.isnan(truth)
    tests = np.stack([test_of(name)[1] * table.column(name) for name in measures], axis=1)[rows]
    blank = Evidence(np.full((int(rows.sum()), 1, 2), np.nan), truth[rows], *_places(table, rows))
    said = np.full(len(blank), "cannot say", dtype=object)
    fits: dict[frozenset[str], Monotone] = {}
    for mechanism in sorted(set(blank.mechanism.tolist())):
        inside = blank.mechanism == mechanism
        model, marks = _fitted(tests[~inside], blank[~inside], fits)
        said[inside] = _with(blank[inside], model.chance(tests[inside])).answers(marks)
    return blank, said


def _places(table: Table, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return table.names("mechanism")[rows], table.names("world")[rows]


def _fitted(tests: np.ndarray, members: Evidence, fits: dict[frozenset[str], Monotone]) -> tuple[Monotone, Marks]:
    """The fit of these members and its marks; fits without two mechanisms serve whichever was left out first."""
    chances = np.full(len(members), np.nan)
    mechanisms = set(members.mechanism.tolist())
    for mechanism in sorted(mechanisms):
        inside, left = members.mechanism == mechanism, frozenset(mechanisms - {mechanism})
        if left not in fits:
            fits[left] = _model(tests[~inside], members[~inside])
        chances[inside] = fits[left].chance(tests[inside])
    return _model(tests, members), fit_marks(_with(members, chances), GRID)


def _model(tests: np.ndarray, members: Evidence) -> Monotone:
    clear = members.faithful | members.unfaithful
    return fit_monotone(tests[clear], members.faithful[clear], members.cells[clear])


def _with(members: Evidence, chances: np.ndarray) -> Evidence:
    intervals = np.stack([chances, chances], axis=-1)[:, None, :]
    return Evidence(intervals, members.truth, members.mechanism, members.world)

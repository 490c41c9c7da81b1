"""The marks of the verdict: fitted on members of known truth, and judged on mechanisms and worlds held out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attentest.calibration.analysis.rule import Answer, Marks, answer_of
from attentest.statistics.clusters import cell_weights, clustered_share
from attentest.statistics.intervals import Interval

__all__ = [
    "CLEAR",
    "GRID",
    "NEVER",
    "Errors",
    "Evidence",
    "errors_of",
    "evenly_weighted",
    "fit_marks",
    "folds",
    "held_out",
]

#: Truths at or below the first are clearly unfaithful, at or above the second clearly faithful.
CLEAR = (0.2, 0.8)
#: At least so many clear members should get their answer, and at most so many the wrong one.
RIGHT, WRONG = 0.9, 0.05
#: The marks that are tried.
GRID = np.round(np.arange(-100, 101) / 100, 2)
#: A mark that no measure reaches: the answer is never given.
NEVER = 9.0


@dataclass(frozen=True)
class Evidence:
    """What was measured of members: intervals [member, column, (low, high)], their truth, mechanism and world."""

    intervals: np.ndarray
    truth: np.ndarray
    mechanism: np.ndarray
    world: np.ndarray
    #: The mark of *no* lies at or below the first, that of *yes* at or above the second.
    bounds: tuple[float, float] = (math.inf, -math.inf)

    def __len__(self) -> int:
        return len(self.truth)

    def __getitem__(self, rows: np.ndarray) -> Evidence:
        return replace(
            self,
            intervals=self.intervals[rows],
            truth=self.truth[rows],
            mechanism=self.mechanism[rows],
            world=self.world[rows],
        )

    @property
    def faithful(self) -> np.ndarray:
        """Which members are clearly faithful."""
        return np.asarray(self.truth >= CLEAR[1])

    @property
    def unfaithful(self) -> np.ndarray:
        """Which are clearly not."""
        return np.asarray(self.truth <= CLEAR[0])

    @property
    def cells(self) -> np.ndarray:
        """The mechanism and world of each, in one."""
        names = [f"{mechanism}\n{world}" for mechanism, world in zip(self.mechanism, self.world, strict=True)]
        return np.array(names, dtype=object)

    def answers(self, marks: Marks) -> np.ndarray:
        """What the rule says of each."""
        found: list[Answer] = [answer_of([(low, high) for low, high in rows], marks) for rows in self.intervals]
        return np.array(found, dtype=object)


def fit_marks(evidence: Evidence, grid: np.ndarray | None = GRID) -> Marks:
    """The marks of these members, every mechanism × world cell counted alike.

    The mark of *yes* is the highest that still gives it to 90 % of the clearly faithful, or, where it must lie higher,
    the lowest that gives it to no more than 5 % of the clearly unfaithful; that of *no* likewise from below. Marks
    that cross meet halfway, and none lies within the evidence's bounds. Without a grid, 201 marks are tried between the
    lowest and the highest end of an interval.
    """
    if grid is None:
        ends = evidence.intervals[np.isfinite(evidence.intervals)]
        grid = np.linspace(ends.min(), ends.max(), 201) if len(ends) else GRID
    lows = np.where(np.isnan(evidence.intervals[..., 0]), -np.inf, evidence.intervals[..., 0]).min(-1)
    highs = np.where(np.isnan(evidence.intervals[..., 1]), np.inf, evidence.intervals[..., 1]).max(-1)
    cells = evidence.cells
    yes = _mark(lows, evidence.faithful, evidence.unfaithful, cells, grid)
    no = -_mark(-highs, evidence.unfaithful, evidence.faithful, cells, -grid[::-1])
    if no > yes:
        no = yes = float(np.round((no + yes) / 2, 10))
    least, most = evidence.bounds
    return Marks(min(no, least), max(yes, most))


def _mark(reached: np.ndarray, own: np.ndarray, others: np.ndarray, cells: np.ndarray, grid: np.ndarray) -> float:
    """The highest mark that enough of its own reach; if too many of the others do, the lowest that few of them do."""
    if not own.any() or not others.any():
        return NEVER
    enough = grid[_reaching(reached[own], cells[own], grid) >= RIGHT - 1e-9]
    few = grid[_reaching(reached[others], cells[others], grid) <= WRONG + 1e-9]
    least = float(few.min()) if len(few) else NEVER
    return max(float(enough.max()) if len(enough) else float(grid.min()), least)


def _reaching(reached: np.ndarray, cells: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """The share that reaches each mark, of marks that rise."""
    weights = cell_weights(cells)
    passed = np.bincount(np.searchsorted(grid, reached, side="right"), weights, len(grid) + 1)
    return np.asarray(passed[::-1].cumsum()[-2::-1] / weights.sum())


def held_out(
    evidence: Evidence, groups: np.ndarray, grid: np.ndarray | None = GRID, judged: Evidence | None = None
) -> np.ndarray:
    """What the rule says of each member by the marks of all members of other groups; of ``judged``, if given."""
    said = np.full(len(evidence), "cannot say", dtype=object)
    for inside, marks in folds(evidence, groups, grid):
        said[inside] = (evidence if judged is None else judged)[inside].answers(marks)
    return said


def folds(evidence: Evidence, groups: np.ndarray, grid: np.ndarray | None = GRID) -> Iterator[tuple[np.ndarray, Marks]]:
    """Each group of members, and the marks of all others."""
    for group in sorted(set(groups.tolist())):
        inside = groups == group
        yield inside, fit_marks(evidence[~inside], grid)


@dataclass(frozen=True)
class Errors:
    """How often answers were wrong, withheld, or right, each with an interval clustered by mechanism."""

    #: *Yes* of the clearly unfaithful; *no* of the clearly faithful.
    yes: tuple[int, int, Interval]
    no: tuple[int, int, Interval]
    #: *With care* or *cannot say* of all clear members.
    abstain: tuple[int, int, Interval]
    #: *With care* or *cannot say* of those between; *with care* alone.
    between: tuple[int, int, Interval]
    care: tuple[int, int, Interval]
    #: The clearly unfaithful among clear members with a *yes*; the clearly faithful among those with a *no*.
    given_yes: tuple[int, int, Interval]
    given_no: tuple[int, int, Interval]

    def lists(self) -> dict[str, list[float | None]]:
        """As the program's file has them: how many, of how many, and the ends of the interval."""
        return {
            name: [hits, size, _rounded(share.low), _rounded(share.high)]
            for name, (hits, size, share) in vars(self).items()
        }


def errors_of(evidence: Evidence, said: np.ndarray) -> Errors:
    """How often these answers err."""
    faithful, unfaithful = evidence.faithful, evidence.unfaithful
    clear = faithful | unfaithful
    between = ~clear & ~np.isnan(evidence.truth)
    withheld = np.isin(said, ["with care", "cannot say"])
    counted: Mapping[str, tuple[np.ndarray, np.ndarray]] = {
        "yes": (said == "yes", unfaithful),
        "no": (said == "no", faithful),
        "abstain": (withheld, clear),
        "between": (withheld, between),
        "care": (said == "with care", between),
        "given_yes": (unfaithful, clear & (said == "yes")),
        "given_no": (faithful, clear & (said == "no")),
    }
    return Errors(
        **{
            name: (int(hits[of].sum()), int(of.sum()), clustered_share(hits[of], evidence.mechanism[of]))
            for name, (hits, of) in counted.items()
        }
    )


def evenly_weighted(hits: np.ndarray, cells: Sequence[str] | np.ndarray) -> float:
    """A share with every cell counted alike."""
    names = np.asarray(cells, dtype=object)
    return float(np.average(hits, weights=cell_weights(names))) if len(names) else math.nan


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)

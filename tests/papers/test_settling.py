"""What settles a claim, and what a rate is worth, against plain enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from attentest.papers import PAPERS
from attentest.papers.claims import Claim, load_claims
from attentest.papers.outcome_files import committed
from attentest.papers.settling import by_chance, of_figure
from attentest.statistics.intervals import Interval, student

NONE = math.nan


@pytest.mark.parametrize(
    ("ours", "status"),
    [
        (Interval(0.40, 0.35, 0.45), "agrees"),
        (Interval(0.40, 0.30, 0.50), "agrees"),  # exactly the tolerance
        (Interval(0.45, 0.35, 0.55), "unsettled"),  # the mean within, an end beyond
        (Interval(0.55, 0.45, 0.65), "unsettled"),  # the mean beyond, an end within
        (Interval(0.40, 0.10, 0.70), "unsettled"),  # so wide that it says nothing
        (Interval(0.60, 0.51, 0.69), "differs"),
        (Interval(0.20, 0.11, 0.29), "differs"),
        (Interval(0.50, NONE, NONE), "agrees"),  # a count
        (Interval(0.51, NONE, NONE), "differs"),
    ],
)
def test_the_whole_interval_settles_a_figure(ours: Interval, status: str) -> None:
    assert of_figure(0.40, 0.10, ours) == status


def test_chance_is_the_mean_over_all_shuffles_and_the_best_of_all_constants() -> None:
    rng = np.random.default_rng(2)
    measures = []
    for size in (1, 3, 5):
        middle, half = rng.random(size), 0.1 * rng.random(size)
        ours = [Interval(m, m - h, m + h) for m, h in zip(middle, half, strict=True)]
        measures.append([(float(p), 0.25, own) for p, own in zip(rng.random(size), ours, strict=True)])
    every = sum(map(len, measures))
    shuffled = constant = 0.0
    for figures in measures:
        published = [p for p, _, _ in figures]
        counts = [
            sum(of_figure(p, t, own) == "agrees" for p, (_, t, own) in zip(dealt, figures, strict=True))
            for dealt in itertools.permutations(published)
        ]
        shuffled += float(np.mean(counts))
        grid = np.linspace(-0.5, 1.5, 4001)
        constant += max(sum(of_figure(c, t, own) == "agrees" for _, t, own in figures) for c in grid)
    found = by_chance(measures)
    assert found is not None
    assert found.shuffled == pytest.approx(shuffled / every)
    assert found.constant == pytest.approx(constant / every)
    assert by_chance([]) is None


@pytest.mark.parametrize("name", PAPERS)
def test_a_committed_table_is_settled_by_the_rule_that_holds(name: str) -> None:
    rules = load_claims(name).rules
    for outcome in committed(name) or []:
        claim = outcome.claim
        if outcome.settled and isinstance(claim, Claim):
            tolerance = rules.measure(claim.measure, claim.group).tolerance
            assert outcome.status == of_figure(
                claim.value, tolerance, Interval(outcome.ours, outcome.low, outcome.high)
            )


@pytest.mark.parametrize("name", PAPERS)
def test_a_committed_table_says_how_each_interval_was_made(name: str) -> None:
    for outcome in committed(name) or []:
        assert bool(outcome.interval) == (outcome.settled and math.isfinite(outcome.low))
        seeds = len(outcome.seeds)
        if outcome.interval and seeds == 1:
            assert outcome.interval == "bootstrap"
        elif outcome.interval and isinstance(outcome.claim, Claim):
            # With the lowest and the highest of so many figures, their standard deviation is no less than this.
            rounded = 2e-4
            least = (outcome.seed_high - outcome.seed_low - rounded) / math.sqrt(2 * (seeds - 1))
            assert outcome.interval == "wider"
            assert outcome.high - outcome.low + rounded >= 2 * student(seeds - 1) * least / math.sqrt(seeds)

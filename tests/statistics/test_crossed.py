"""Shares of answers of people to items, beside loops, formulas and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attentest.statistics.crossed import Components, Crossed, components
from attentest.statistics.intervals import wilson


def test_a_resample_is_a_loop_over_drawn_people_and_items() -> None:
    random = np.random.default_rng(3)
    hits, seen = random.random((4, 7)) < 0.5, random.random((4, 7)) < 0.8
    crossed = Crossed(4, np.zeros(7), resamples=400)
    drawn = []
    for people, items in zip(crossed.people, crossed.items, strict=True):
        above = below = 0.0
        for p in range(4):
            for i in range(7):
                above += people[p] * items[i] * hits[p, i] * seen[p, i]
                below += people[p] * items[i] * seen[p, i]
        drawn.append(above / below)
    found = crossed.share(hits, seen)
    least = wilson(found.value * 7, 7)
    assert found.value == pytest.approx((hits & seen).sum() / seen.sum())
    assert found.low == pytest.approx(min(np.quantile(drawn, 0.025), least.low))
    assert found.high == pytest.approx(max(np.quantile(drawn, 0.975), least.high))


def test_items_are_drawn_within_their_strata() -> None:
    strata = np.array(["a"] * 5 + ["b"] * 9)
    crossed = Crossed(3, strata, resamples=50)
    assert (crossed.items[:, :5].sum(1) == 5).all()
    assert (crossed.items[:, 5:].sum(1) == 9).all()
    assert (crossed.people.sum(1) == 3).all()


def test_answers_that_are_all_alike_have_wilsons_interval_of_items() -> None:
    everything = np.ones((3, 20), dtype=bool)
    assert Crossed(3, np.zeros(20)).share(everything, everything) == pytest.approx(wilson(20, 20))
    assert math.isnan(Crossed(3, np.zeros(20)).share(everything, ~everything).value)


def test_a_difference_of_two_conditions_is_that_of_their_shares() -> None:
    random = np.random.default_rng(5)
    strata = np.repeat([0, 1], 30)
    hits = random.random((4, 60)) < np.where(strata, 0.3, 0.7)
    seen = np.ones((4, 60), dtype=bool)
    crossed = Crossed(4, strata)
    left, right = ((hits, seen & (strata == s)) for s in (0, 1))
    found = crossed.difference(left, right)
    assert found.value == pytest.approx(hits[:, :30].mean() - hits[:, 30:].mean())
    assert 0 < found.low < found.value < found.high


def made(random: np.random.Generator, people: int, items: int, between_items: float, between_people: float):
    """Answers with a share of a half whose chance varies with item and person."""
    chance = (
        0.5
        + between_items * random.choice([-1, 1], items)[None]
        + between_people * random.choice([-1, 1], people)[:, None]
    )
    return random.random((people, items)) < chance


def test_components_are_what_answers_were_made_with() -> None:
    random = np.random.default_rng(1)
    found = [components(made(random, 40, 400, 0.3, 0.15), np.ones((40, 400), dtype=bool)) for _ in range(10)]
    assert np.mean([f.items for f in found]) == pytest.approx(0.3**2 / 0.25, abs=0.03)
    assert np.mean([f.people for f in found]) == pytest.approx(0.15**2 / 0.25, abs=0.03)
    same = components(np.ones((3, 5), dtype=bool), np.ones((3, 5), dtype=bool))
    assert (same.share, same.items, same.people) == (1.0, 0.0, 0.0)


def test_the_variance_formula_is_what_simulation_gives() -> None:
    random = np.random.default_rng(2)
    means = [made(random, 6, 30, 0.3, 0.1).mean() for _ in range(4000)]
    expected = Components(0.5, 0.3**2 / 0.25, 0.1**2 / 0.25).variance(6, 30)
    assert np.var(means) == pytest.approx(expected, rel=0.1)


def test_the_variance_of_a_design_with_an_overlap_is_what_simulation_gives() -> None:
    random = np.random.default_rng(6)
    people, items, shared = 5, 40, 10
    seen = np.zeros((people, items), dtype=bool)
    seen[:, :shared] = True
    seen[np.arange(items - shared) % people, np.arange(shared, items)] = True
    means = [made(random, people, items, 0.3, 0.1)[seen].mean() for _ in range(4000)]
    expected = Components(0.5, 0.3**2 / 0.25, 0.1**2 / 0.25).variance(people, items, shared)
    assert np.var(means) == pytest.approx(expected, rel=0.1)


@pytest.mark.slow
def test_the_interval_holds_the_truth_at_least_as_often_as_it_says() -> None:
    random = np.random.default_rng(4)
    seen = np.ones((6, 40), dtype=bool)
    held = 0
    for seed in range(200):
        found = Crossed(6, np.zeros(40), seed=seed, resamples=400).share(made(random, 6, 40, 0.3, 0.1), seen)
        held += found.low <= 0.5 <= found.high
    assert held >= 184  # 95 % of 200 less two standard deviations

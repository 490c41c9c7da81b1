from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.measures.divergence import total_variation
from attentest.measures.neighbourhood import Neighbourhood, implied_slabs

SEEDS = st.integers(0, 100_000)


def near(y: np.ndarray, epsilon: float, rng: np.random.Generator, count: int = 4000) -> np.ndarray:
    """Predictions within TVD ε of y, many of them on the edge."""
    other = rng.dirichlet(np.full(len(y), 0.3), count)
    step = other - y
    reach = epsilon / (np.abs(step).sum(1, keepdims=True) / 2)
    return y + step * np.minimum(1.0, reach) * rng.choice([1.0, 0.999, 0.5], (count, 1))


@given(SEEDS, st.integers(2, 5), st.sampled_from([0.01, 0.05, 0.3]))
@settings(max_examples=60)
def test_no_prediction_within_epsilon_leaves_a_slab(seed: int, outcomes: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    y = rng.dirichlet(np.full(outcomes, rng.choice([0.3, 2.0])))
    directions, low, high = (part[0].numpy() for part in implied_slabs(torch.from_numpy(y)[None], epsilon))
    assert np.allclose(directions.sum(-1), 0)
    others = near(y, epsilon, rng)
    assert (np.abs(others - y).sum(1) / 2 <= epsilon + 1e-12).all()
    places = np.log(others) @ directions.T
    assert (places >= low - 1e-9).all()
    assert (places <= high + 1e-9).all()


def test_slabs_touch_the_predictions_they_hold() -> None:
    y = np.array([0.5, 0.3, 0.2])
    directions, low, high = (part[0].numpy() for part in implied_slabs(torch.from_numpy(y)[None], 0.05))
    angles = np.linspace(0, 2 * np.pi, 20_001)
    ring = np.stack([np.cos(angles), np.cos(angles + 2), -np.cos(angles) - np.cos(angles + 2)], 1)
    ring = y + 0.05 * ring / (np.abs(ring).sum(1, keepdims=True) / 2)
    places = np.log(ring) @ directions.T
    assert places.min(0) == pytest.approx(low, abs=1e-4)
    assert places.max(0) == pytest.approx(high, abs=1e-4)


def test_an_outcome_that_may_vanish_bounds_nothing_from_its_side() -> None:
    _, low, high = implied_slabs(torch.tensor([[0.9, 0.095, 0.005]], dtype=torch.float64), 0.01)
    # Slabs: 0/1, 0/2, 1/2, then 0, 1 and 2 against the others.
    assert low.isinf().tolist() == [[False, False, False, False, False, True]]
    assert high.isinf().tolist() == [[False, True, True, True, True, False]]


def test_a_segment_is_followed_until_the_prediction_changes_too_much() -> None:
    alpha = torch.tensor([[0.5, 0.5]], dtype=torch.float64)
    z = torch.tensor([[[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]]], dtype=torch.float64)
    place = Neighbourhood.of(alpha, z, torch.ones(1, 2, dtype=torch.bool), 0.05)
    goals = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.501, 0.499]]], dtype=torch.float64)
    found = place.pulled(alpha[:, None], goals)
    change = total_variation((found @ z).softmax(-1), place.predicted[:, None])[0]
    assert change.tolist()[:2] == pytest.approx([0.05, 0.05], abs=1e-9)
    assert (change <= 0.05).all()
    assert torch.equal(found[0, 2:], goals[0, 2:])
    assert place.divergence(goals).isinf().tolist() == [[True, True, False, False]]
    assert torch.equal(place.best(torch.cat([goals, found], 1)), place.best(found))

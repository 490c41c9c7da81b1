from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measures.adversary.reachable import reachable

from attentest.measures.adversary.slabs import FEW, implied_slabs, slabs_around

SEEDS = st.integers(0, 100_000)


def near(y: np.ndarray, epsilon: float, rng: np.random.Generator, count: int = 4000) -> np.ndarray:
    """Predictions within TVD ε of y, many of them on the edge."""
    other = rng.dirichlet(np.full(len(y), 0.3), count)
    step = other - y
    reach = epsilon / (np.abs(step).sum(1, keepdims=True) / 2)
    return y + step * np.minimum(1.0, reach) * rng.choice([1.0, 0.999, 0.5], (count, 1))


def implied(y: np.ndarray, epsilon: float, chosen: list[int] | None = None) -> tuple[np.ndarray, ...]:
    these = torch.tensor(range(len(y)) if chosen is None else chosen)[None]
    directions, low, high = implied_slabs(torch.from_numpy(y)[None], epsilon, these)
    return directions[0].numpy(), low[0].numpy(), high[0].numpy()


@given(SEEDS, st.integers(2, 12), st.sampled_from([0.01, 0.05, 0.3]))
@settings(max_examples=60)
def test_no_prediction_within_epsilon_leaves_a_slab(seed: int, outcomes: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    y = rng.dirichlet(np.full(outcomes, rng.choice([0.3, 2.0])))
    chosen = rng.permutation(outcomes)[: rng.integers(1, outcomes + 1)].tolist()
    directions, low, high = implied(y, epsilon, chosen)
    assert np.allclose(directions.sum(-1), 0)
    others = near(y, epsilon, rng)
    assert (np.abs(others - y).sum(1) / 2 <= epsilon + 1e-12).all()
    places = np.log(np.maximum(others, 1e-300)) @ directions.T  # draws of 0 among them: no slab asks 0 times infinity
    assert (places >= low - 1e-9).all()
    assert (places <= high + 1e-9).all()


def test_slabs_touch_the_predictions_they_hold() -> None:
    y = np.array([0.5, 0.3, 0.2])
    directions, low, high = implied(y, 0.05)
    angles = np.linspace(0, 2 * np.pi, 20_001)
    ring = np.stack([np.cos(angles), np.cos(angles + 2), -np.cos(angles) - np.cos(angles + 2)], 1)
    ring = y + 0.05 * ring / (np.abs(ring).sum(1, keepdims=True) / 2)
    places = np.log(ring) @ directions.T
    assert places.min(0) == pytest.approx(low, abs=1e-4)
    assert places.max(0) == pytest.approx(high, abs=1e-4)


def test_an_outcome_that_may_vanish_bounds_nothing_from_its_side() -> None:
    _, low, high = implied(np.array([0.9, 0.095, 0.005]), 0.01)
    # Slabs: 0/1, 0/2, 1/2, then 0, 1 and 2 against the others.
    assert np.isinf(low).tolist() == [False, False, False, False, False, True]
    assert np.isinf(high).tolist() == [False, True, True, True, True, False]


@pytest.mark.slow
@given(SEEDS, st.sampled_from([3, FEW, FEW + 1, 12, 40]), st.sampled_from([0.01, 0.05, 0.3]))
@settings(max_examples=30, deadline=None)
def test_every_attention_within_epsilon_lies_in_every_slab(seed: int, outcomes: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    tokens = int(rng.integers(2, 8))
    alpha, z = rng.dirichlet(np.ones(tokens)), rng.normal(size=(tokens, outcomes)) * rng.choice([0.2, 1.5, 5.0])
    y = torch.from_numpy(alpha @ z).softmax(-1)
    slabs = slabs_around(torch.from_numpy(z)[None], torch.ones(1, tokens, dtype=torch.bool), y[None], epsilon)
    places = reachable(alpha, z, epsilon, rng) @ slabs.margins[0].numpy()
    assert (places >= slabs.low[0].numpy() - 1e-9).all()
    assert (places <= slabs.high[0].numpy() + 1e-9).all()


def test_many_small_outcomes_are_bounded_together() -> None:
    """Of a hundred outcomes of .01 each may vanish, but no group of half of them."""
    rng = np.random.default_rng(0)
    z = torch.from_numpy(rng.normal(size=(1, 5, 100)) * 0.1)
    slabs = slabs_around(z, torch.ones(1, 5, dtype=torch.bool), torch.full((1, 100), 0.01, dtype=torch.float64), 0.02)
    assert slabs.low.isfinite().any()
    assert slabs.high.isfinite().any()


def test_outcomes_that_cannot_happen_leave_slabs_that_hold() -> None:
    """Logits so low that the probability is no number above zero, as of classes that a text may not have."""
    rng = np.random.default_rng(1)
    z = np.concatenate([rng.normal(size=(4, 3)), np.full((4, 10), -1e4)], 1)
    alpha = rng.dirichlet(np.ones(4))
    y = torch.from_numpy(alpha @ z).softmax(-1)
    slabs = slabs_around(torch.from_numpy(z)[None], torch.ones(1, 4, dtype=torch.bool), y[None], 0.05)
    places = reachable(alpha, z, 0.05, rng) @ slabs.margins[0].numpy()
    held = (places >= slabs.low[0].numpy() - 1e-9) & (places <= slabs.high[0].numpy() + 1e-9)
    assert held[:, ~np.isnan(slabs.low[0].numpy())].all()

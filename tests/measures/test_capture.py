from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.measures.capture import captured, deciding, held_share


def slow(choosing: list[float], effect: list[float], k: int) -> float:
    n = len(effect)
    if n < 2:
        return math.nan
    k = max(1, min(k, n // 2))
    edge = sorted(choosing, reverse=True)[k - 1]
    above, tied = ([t for t in range(n) if test(choosing[t])] for test in (edge.__lt__, edge.__eq__))
    held = sum(effect[t] for t in above) + (k - len(above)) * sum(effect[t] for t in tied) / len(tied)
    best, chance = sum(sorted(effect, reverse=True)[:k]), k / n * sum(effect)
    if best - chance <= 1e-12 * abs(best):
        return math.nan
    return (held - chance) / (best - chance)


scores = st.lists(
    st.tuples(st.floats(0, 1, width=32), st.floats(0, 1, width=32).map(lambda v: round(v, 3))), min_size=1, max_size=9
)


@pytest.mark.slow
@settings(deadline=None)
@given(scores, st.integers(1, 4))
def test_capture_equals_its_definition(pairs, k):
    x, y = map(list, zip(*pairs, strict=True))
    mask = torch.tensor([[False, *[True] * len(x), False]])
    pad = lambda v: torch.tensor([[9.0, *v, 9.0]], dtype=torch.float64)  # noqa: E731
    got, expected = float(captured(pad(x), pad(y), mask, k)), slow(x, y, k)
    assert (math.isnan(got) and math.isnan(expected)) or got == pytest.approx(expected, abs=1e-6)


def test_choosing_by_the_effect_itself_captures_everything():
    effect = torch.rand(5, 8, dtype=torch.float64)
    assert torch.allclose(captured(effect, effect, torch.ones(5, 8, dtype=torch.bool), 3), torch.ones(5).double())


def test_the_worst_choice_is_no_lower_than_minus_one():
    effect = torch.tensor([[1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    assert float(captured(-effect, effect, torch.ones(1, 4, dtype=torch.bool), 3)) == pytest.approx(-1)


def test_blind_choices_capture_nothing_on_average():
    rng = np.random.default_rng(0)
    effect = torch.from_numpy(np.repeat(rng.random((1, 12)), 20_000, axis=0))
    blind = torch.from_numpy(rng.random((20_000, 12)))
    assert float(captured(blind, effect, torch.ones(20_000, 12, dtype=torch.bool), 3).mean()) == pytest.approx(
        0, abs=0.01
    )


@pytest.mark.parametrize("weights", [[0.5, 0.2, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25], [0.1, 0.4, 0.4, 0.1]])
@pytest.mark.parametrize("top", [1, 2, 3])
def test_ties_hold_what_they_would_over_all_ways_to_break_them(weights, top):
    mass = np.array([3.0, 0.0, 1.0, 2.0])
    shares = [
        mass[sorted(range(4), key=lambda place: (-weights[place], order.index(place)))[:top]].sum()
        for order in permutations(range(4))
    ]
    best, blind = np.sort(mass)[::-1][:top].sum(), top / 4 * mass.sum()
    # Padding holds nothing, whatever stands there.
    padded = torch.tensor([[*weights, 0.9]]), torch.tensor([[*mass, 7.0]]), torch.tensor([[True] * 4 + [False]])
    found = held_share(*padded, torch.tensor([top]))
    assert float(found) == pytest.approx((np.mean(shares) - blind) / (best - blind))


def test_nothing_is_held_where_nothing_mattered_or_all_did_alike_or_all_are_chosen():
    mask = torch.ones(3, 2, dtype=torch.bool)
    mass = torch.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0]])
    assert held_share(torch.rand(3, 2), mass, mask, torch.tensor([1, 1, 2])).isnan().all()
    assert deciding(mass, 0.1).tolist() == [0, 2, 1]

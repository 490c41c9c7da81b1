from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.ragged import Ragged, noise_like, padded, ragged, real

from attentest.measures.adversary import strongest
from attentest.measures.adversary.strongest import (
    slab_adversary,
    strongest_adversary,
    unconstrained_divergence,
)
from attentest.measures.divergence import LN2, jensen_shannon

SEEDS = st.integers(0, 100_000)


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def slab_of(alpha: np.ndarray, z: np.ndarray, epsilon: float) -> tuple[float, float]:
    """The logits of y ± ε in fifty digits: near 0 and 1 float64 keeps few of them."""
    with localcontext(prec=50):
        weights = [Decimal(float(a)) for a in alpha]
        y = 1 / (1 + (-sum(a * Decimal(float(x)) for a, x in zip(weights, z, strict=True)) / sum(weights)).exp())
        change = Decimal(epsilon)
        low = -math.inf if y <= change else float(((y - change) / (1 - y + change)).ln())
        high = math.inf if y >= 1 - change else float(((y + change) / (1 - y - change)).ln())
    return low, high


def distance(a: np.ndarray, alpha: np.ndarray) -> float:
    return float(jensen_shannon(torch.from_numpy(np.ascontiguousarray(a)), torch.from_numpy(alpha)))


def slow_strongest(alpha: np.ndarray, z: np.ndarray, low: float, high: float) -> float:
    """Every vertex of docs: the exact adversary, one by one, with its formula for the divergence."""

    def g(p: float, q: float) -> float:
        return sum(x * math.log(2 * x / (p + q)) for x in (p, q) if x > 0) / 2

    best = -math.inf
    for i in range(len(z)):
        if low - 1e-10 <= z[i] <= high + 1e-10:
            best = max(best, LN2 / 2 * (1 - alpha[i]) + g(alpha[i], 1.0))
        for j, bound in itertools.product(range(len(z)), (low, high)):
            if math.isfinite(bound) and z[i] > bound > z[j]:
                a = (bound - z[j]) / (z[i] - z[j])
                best = max(best, LN2 / 2 * (1 - alpha[i] - alpha[j]) + g(alpha[i], a) + g(alpha[j], 1 - a))
    return best


def lp_vertices(z: np.ndarray, low: float, high: float) -> list[np.ndarray]:
    """The vertices of simplex ∩ slab from linear algebra alone: all sets of active constraints."""
    n = len(z)
    rows = [(np.eye(n)[i], 0.0) for i in range(n)] + [(z, b) for b in (low, high) if math.isfinite(b)]
    found = []
    for active in itertools.combinations(rows, n - 1):
        system = np.array([np.ones(n), *(row for row, _ in active)])
        if abs(np.linalg.det(system)) < 1e-9:
            continue
        point = np.linalg.solve(system, [1.0, *(value for _, value in active)])
        if (point >= -1e-9).all() and low - 1e-9 <= point @ z <= high + 1e-9:
            found.append(np.clip(point, 0, 1))
    return found


def instance(seed: int, **options: int) -> tuple[Ragged, torch.Tensor]:
    """Attention and margins; some of the time with zeros, ties and constant margins."""
    batch = ragged(seed, **options)
    scale = batch.rng.choice([0.3, 2.0, 8.0])
    z = noise_like(batch, scale=scale) + batch.rng.normal() * scale
    weights = batch.weights
    if seed % 3 == 1:
        z, weights = z.round(), (weights * 6).round() / 6 * batch.mask
        empty = weights.sum(-1, keepdim=True) == 0
        weights = torch.where(empty, batch.weights, weights)
        weights = weights / weights.sum(-1, keepdim=True)
    if seed % 7 == 0:
        z = torch.ones_like(z) * z[:, :1]
    return batch._replace(weights=weights), z


@pytest.mark.slow
@given(SEEDS, st.sampled_from([0.001, 0.01, 0.05, 0.3, 1.0]))
@settings(max_examples=200)
def test_the_optimum_is_the_best_of_all_vertices(seed: int, epsilon: float) -> None:
    batch, z = instance(seed, longest=12)
    found = strongest_adversary(batch.weights, z, batch.mask, epsilon)
    for row, (alpha, margins) in enumerate(zip(real(batch.weights, batch.mask), real(z, batch.mask), strict=True)):
        expected = slow_strongest(alpha, margins, *slab_of(alpha, margins, epsilon))
        assert float(found.divergence[row]) == pytest.approx(expected, abs=1e-10)


@pytest.mark.slow
@given(SEEDS, st.sampled_from([0.0, 0.01, 0.05, 0.3, 1.0]))
@settings(max_examples=200)
def test_the_weights_attain_the_divergence_and_keep_the_prediction(seed: int, epsilon: float) -> None:
    batch, z = instance(seed)
    found = strongest_adversary(batch.weights, z, batch.mask, epsilon)
    assert (found.weights >= 0).all()
    assert (found.weights[~batch.mask] == 0).all()
    torch.testing.assert_close(found.weights.sum(-1), torch.ones_like(found.divergence), rtol=0, atol=1e-12)
    torch.testing.assert_close(jensen_shannon(found.weights, batch.weights), found.divergence, rtol=0, atol=1e-9)
    before, after = ((w * z * batch.mask).sum(-1).sigmoid() for w in (batch.weights, found.weights))
    assert ((after - before).abs() <= epsilon + 1e-9).all()
    assert (found.divergence <= found.unconstrained + 1e-12).all()
    rows = torch.arange(len(z))
    torch.testing.assert_close(
        found.weights[rows, found.first], torch.where(found.first == found.second, 1.0, found.share)
    )


@pytest.mark.slow
@given(SEEDS, st.sampled_from([0.01, 0.05, 0.3]))
@settings(max_examples=40)
def test_linear_algebra_finds_no_better_vertex(seed: int, epsilon: float) -> None:
    batch, z = instance(seed, batch=2, shortest=2, longest=5)
    found = strongest_adversary(batch.weights, z, batch.mask, epsilon)
    for row, (alpha, margins) in enumerate(zip(real(batch.weights, batch.mask), real(z, batch.mask), strict=True)):
        low, high = slab_of(alpha, margins, epsilon)
        best = max(distance(vertex, alpha) for vertex in lp_vertices(margins, low, high))
        assert float(found.divergence[row]) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_dense_grid_comes_close_and_never_beats_it(seed: int) -> None:
    batch, z = instance(3 * seed + 2, batch=1, shortest=3, longest=3)
    alpha, margins = real(batch.weights, batch.mask)[0], real(z, batch.mask)[0]
    n = 200
    grid = np.array([(i, j, n - i - j) for i in range(n + 1) for j in range(n + 1 - i)]) / n
    low, high = slab_of(alpha, margins, 0.05)
    inside = grid[(grid @ margins >= low) & (grid @ margins <= high)]
    best = float(jensen_shannon(torch.from_numpy(inside), torch.from_numpy(alpha)[None]).max())
    found = float(strongest_adversary(batch.weights, z, batch.mask, 0.05).divergence[0])
    assert best - 1e-9 <= found <= best + 0.03


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=60)
def test_no_feasible_attention_differs_more(seed: int) -> None:
    batch, z = instance(seed, longest=12)
    epsilon = 0.05
    found = strongest_adversary(batch.weights, z, batch.mask, epsilon)
    for row, (alpha, margins) in enumerate(zip(real(batch.weights, batch.mask), real(z, batch.mask), strict=True)):
        low, high = slab_of(alpha, margins, epsilon)
        wild = batch.rng.dirichlet(np.full(len(alpha), 0.2), size=200)
        pulled = alpha + (wild - alpha) * batch.rng.random((200, 1))
        tried = np.concatenate([wild, pulled])
        tried = tried[(tried @ margins >= low) & (tried @ margins <= high)]
        reached = jensen_shannon(torch.from_numpy(tried), torch.from_numpy(alpha)[None])
        assert (reached <= found.divergence[row] + 1e-9).all()


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=40)
def test_padding_and_the_order_of_the_batch_change_nothing(seed: int) -> None:
    batch, z = instance(seed)
    order = torch.from_numpy(batch.rng.permutation(len(z)))
    before = strongest_adversary(batch.weights, z, batch.mask, 0.05)
    moved = strongest_adversary(batch.weights[order], z[order], batch.mask[order], 0.05)
    wider = strongest_adversary(padded(batch.weights, 2, 3), padded(z, 2, 3), padded(batch.mask, 2, 3, fill=0.0), 0.05)
    torch.testing.assert_close(moved.divergence, before.divergence[order], rtol=0, atol=1e-13)
    torch.testing.assert_close(wider.divergence, before.divergence, rtol=0, atol=1e-13)
    torch.testing.assert_close(wider.weights[:, 2:-3], before.weights, rtol=0, atol=1e-12)
    assert torch.equal(wider.first - 2, before.first)
    assert torch.equal(wider.second - 2, before.second)


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=30)
def test_more_room_never_hurts_and_all_room_is_the_unconstrained_maximum(seed: int) -> None:
    batch, z = instance(seed)
    found = [strongest_adversary(batch.weights, z, batch.mask, e).divergence for e in (0.0, 0.01, 0.1, 0.5, 1.0)]
    for tighter, wider in itertools.pairwise(found):
        assert (tighter <= wider + 1e-9).all()
    free = unconstrained_divergence(batch.weights, batch.mask)
    torch.testing.assert_close(found[-1], free, rtol=0, atol=1e-12)
    for row, alpha in enumerate(real(batch.weights, batch.mask)):
        assert float(free[row]) == pytest.approx(max(distance(e, alpha) for e in np.eye(len(alpha))), abs=1e-12)


def single(weights: list[float], z: list[float], epsilon: float = 0.01) -> strongest.Adversary:
    mask = torch.ones(1, len(z), dtype=torch.bool)
    return strongest_adversary(torch.tensor([weights]), torch.tensor([z]), mask, epsilon)


def test_one_token_cannot_move() -> None:
    found = single([1.0], [2.5])
    assert float(found.divergence) == 0
    assert float(found.unconstrained) == 0
    assert found.weights.tolist() == [[1.0]]


def test_two_tokens_move_along_one_segment() -> None:
    found = single([0.5, 0.5], [2.0, -2.0], 0.1)
    share = (logit(0.6) + 2) / 4
    assert sorted(found.weights[0].tolist()) == pytest.approx([1 - share, share])
    assert float(found.divergence) == pytest.approx(distance(np.array([share, 1 - share]), np.array([0.5, 0.5])))


def test_constant_margins_allow_everything() -> None:
    found = single([0.5, 0.3, 0.2], [4.0, 4.0, 4.0], 0.0)
    assert found.weights.tolist() == [[0.0, 0.0, 1.0]]
    assert float(found.divergence) == float(found.unconstrained)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_sure_prediction_is_bounded_on_one_side_only(sign: float) -> None:
    found = single([0.6, 0.3, 0.1], [20 * sign, 15 * sign, 400 * sign])
    assert found.weights.tolist() == [[0.0, 0.0, 1.0]]
    low, high = slab_of(np.array([0.5, 0.5]), np.array([20.0, 16.0]), 0.01)
    assert math.isfinite(low)
    assert math.isinf(high)


def test_attention_of_zero_can_be_moved_to_at_ln_2() -> None:
    found = single([0.5, 0.5, 0.0, 0.0], [1.0, 1.0, 3.0, -1.0])
    assert float(found.divergence) == pytest.approx(LN2)
    assert {int(found.first), int(found.second)} == {2, 3}


def test_ties_go_to_the_lowest_index() -> None:
    assert int(single([0.4, 0.2, 0.2, 0.2], [1.0, 1.0, 1.0, 1.0]).first) == 1
    found = single([0.25] * 4, [-3.0, 3.0, -3.0, 3.0], 0.001)
    assert (int(found.first), int(found.second)) == (1, 0)


def test_weights_in_float32_are_renormalised() -> None:
    found = single([0.1] * 10, [float(i) for i in range(10)])
    assert float(found.divergence) == pytest.approx(
        slow_strongest(np.full(10, 0.1), np.arange(10.0), *slab_of(np.full(10, 0.1), np.arange(10.0), 0.01)), abs=1e-9
    )


def test_no_tokens_and_slabs_out_of_reach_have_no_adversary() -> None:
    mask = torch.tensor([[True, True], [False, False]])
    found = strongest_adversary(torch.tensor([[0.5, 0.5], [0.0, 0.0]]), torch.zeros(2, 2), mask, 0.01)
    assert found.divergence.isnan().tolist() == [False, True]
    far = torch.tensor([5.0]).double()
    missed = slab_adversary(torch.tensor([[0.5, 0.5]]), torch.zeros(1, 2), mask[:1], far, far + 1)
    assert missed.divergence.isnan().all()
    assert (missed.weights == 0).all()
    assert missed.first.tolist() == [-1]


def test_an_impossible_epsilon_is_refused() -> None:
    with pytest.raises(ValueError, match=r"epsilon is 1\.5"):
        single([1.0], [1.0], 1.5)


def test_long_texts_are_taken_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = ragged(1, batch=12, longest=60)
    z = noise_like(batch, scale=4)
    weights = z.abs() * batch.mask
    whole = strongest_adversary(weights, z, batch.mask, 0.01)
    monkeypatch.setattr(strongest, "PAIRS_AT_ONCE", 1)
    assert torch.equal(strongest_adversary(weights, z, batch.mask, 0.01).divergence, whole.divergence)

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import average_precision_score
from tests.support.ragged import Ragged, noise_like, padded, ragged, real

from attentest.measures import rank
from attentest.measures.rank import average_precision, kendall, rank_biased_overlap, spearman, top_k_overlap

SEEDS = st.integers(0, 100_000)


def scores(seed: int, **options: int) -> tuple[Ragged, torch.Tensor, torch.Tensor]:
    """Two scores that agree a little, half of the time rounded so that they tie."""
    batch = ragged(seed, **options)
    x = noise_like(batch)
    y = x + noise_like(batch, scale=batch.rng.choice([0.1, 1.0, 10.0]))
    return (batch, x.round(), y.round()) if seed % 2 else (batch, x, y)


def slow_tau(x: np.ndarray, y: np.ndarray) -> float:
    concordant = discordant = only_x = only_y = 0
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            if x[i] == x[j] and y[i] == y[j]:
                continue
            if x[i] == x[j]:
                only_x += 1
            elif y[i] == y[j]:
                only_y += 1
            elif (x[i] > x[j]) == (y[i] > y[j]):
                concordant += 1
            else:
                discordant += 1
    both = concordant + discordant
    below = math.sqrt((both + only_x) * (both + only_y))
    return (concordant - discordant) / below if below else math.nan


def order_of(x: np.ndarray) -> list[int]:
    return sorted(range(len(x)), key=lambda i: (-x[i], i))


def slow_overlap(x: np.ndarray, y: np.ndarray, k: int) -> float:
    k = min(k, len(x))
    return len(set(order_of(x)[:k]) & set(order_of(y)[:k])) / k if k else math.nan


def slow_rank_biased_overlap(x: np.ndarray, y: np.ndarray, p: float) -> float:
    n = len(x)
    if not n:
        return math.nan
    total = sum(slow_overlap(x, y, d) * p**d for d in range(1, n + 1))
    return slow_overlap(x, y, n) * p**n + (1 - p) / p * total


def slow_average_precision(score: np.ndarray, relevant: np.ndarray) -> float:
    if not relevant.any():
        return math.nan
    total, recall = 0.0, 0.0
    for threshold in sorted(set(score.tolist()), reverse=True):
        found = [relevant[i] for i in range(len(score)) if score[i] >= threshold]
        total += (sum(found) / sum(relevant) - recall) * sum(found) / len(found)
        recall = sum(found) / sum(relevant)
    return total


def same(ours: torch.Tensor, expected: list[float], tolerance: float = 1e-12) -> None:
    np.testing.assert_allclose(ours.numpy(), expected, rtol=0, atol=tolerance)


@pytest.mark.slow
@given(SEEDS)
def test_kendall_counts_pairs(seed: int) -> None:
    batch, x, y = scores(seed, shortest=0)
    pairs = zip(real(x, batch.mask), real(y, batch.mask), strict=True)
    same(kendall(x, y, batch.mask).tau, [slow_tau(a, b) for a, b in pairs])


@given(SEEDS, st.sampled_from([3, 20, 33, 34, 60]))
@settings(max_examples=40)
def test_kendall_is_scipys_with_its_p_value(seed: int, longest: int) -> None:
    batch, x, y = scores(seed, longest=longest)
    with warnings.catch_warnings(action="ignore"):
        expected = [stats.kendalltau(a, b) for a, b in zip(real(x, batch.mask), real(y, batch.mask), strict=True)]
    ours = kendall(x, y, batch.mask)
    same(ours.tau, [r.statistic for r in expected])
    same(ours.p_value, [r.pvalue for r in expected])


@pytest.mark.parametrize("length", [1, 2, 3, 4, 33, 34, 170, 171, 172, 173, 300])
@pytest.mark.parametrize("swaps", [0, 1, 2])
def test_almost_perfect_agreement_has_scipys_exact_p_value(length: int, swaps: int) -> None:
    x = np.arange(float(length))
    y = x.copy()
    for start in range(0, 2 * min(swaps, length // 2), 2):
        y[[start, start + 1]] = y[[start + 1, start]]
    for other in (y, -y):
        mask = torch.ones(1, length, dtype=torch.bool)
        ours = kendall(torch.from_numpy(x)[None], torch.from_numpy(other.copy())[None], mask)
        with warnings.catch_warnings(action="ignore"):
            expected = stats.kendalltau(x, other)
        same(ours.tau, [expected.statistic])
        np.testing.assert_allclose(ours.p_value, [expected.pvalue], rtol=1e-12, atol=1e-300)


def test_every_exact_p_value_is_scipys() -> None:
    from scipy.stats._mstats_basic import _kendall_p_exact

    table = rank.inversion_probabilities()
    for n in range(2, 34):
        pairs = n * (n - 1) // 2
        expected = [_kendall_p_exact(n, c) for c in range(pairs // 2 + 1)]
        np.testing.assert_allclose(table[n, : len(expected)], expected, rtol=1e-12)


def test_constant_scores_single_tokens_and_nothing_have_no_tau() -> None:
    x = torch.tensor([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0], [5.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, math.nan, 3.0]])
    y = torch.tensor([[1.0, 2.0, 3.0], [2.0, 2.0, 2.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    mask = torch.tensor([[True] * 3, [True] * 3, [True, False, False], [False] * 3, [True] * 3])
    tau, p_value = kendall(x, y, mask)
    assert tau.isnan().all()
    assert p_value.isnan().all()
    assert spearman(x, y, mask).isnan().all()


def test_infinite_and_nearly_equal_scores_are_ordered() -> None:
    x = torch.tensor([[-math.inf, 0.0, 5e-324, 1.0, 1.0 + 2**-52, math.inf]], dtype=torch.float64)
    y = torch.arange(6.0).double()[None]
    mask = torch.ones(1, 6, dtype=torch.bool)
    assert float(kendall(x, y, mask).tau) == pytest.approx(1)
    assert float(spearman(x, y, mask)) == pytest.approx(1)


def test_long_texts_are_taken_in_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, x, y = scores(3, batch=9, longest=40)
    whole = kendall(x, y, batch.mask)
    monkeypatch.setattr(rank, "PAIRS_AT_ONCE", 1)
    assert torch.equal(kendall(x, y, batch.mask).tau, whole.tau)


def test_float32_scores_give_the_same_tau_as_their_float64_copies() -> None:
    batch, x, y = scores(4)
    narrow = kendall(x.float(), y.float(), batch.mask)
    wide = kendall(x.float().double(), y.float().double(), batch.mask)
    assert torch.equal(narrow.tau, wide.tau)


@pytest.mark.slow
@given(SEEDS)
def test_spearman_is_scipys(seed: int) -> None:
    batch, x, y = scores(seed, shortest=2)
    with warnings.catch_warnings(action="ignore"):
        expected = [
            stats.spearmanr(a, b).statistic for a, b in zip(real(x, batch.mask), real(y, batch.mask), strict=True)
        ]
    same(spearman(x, y, batch.mask), expected)


@given(SEEDS, st.integers(1, 12))
def test_top_k_overlap_counts_shared_tokens(seed: int, k: int) -> None:
    batch, x, y = scores(seed, shortest=0)
    pairs = zip(real(x, batch.mask), real(y, batch.mask), strict=True)
    same(top_k_overlap(x, y, batch.mask, k), [slow_overlap(a, b, k) for a, b in pairs])


@given(SEEDS, st.sampled_from([0.5, 0.9, 0.98]))
def test_rank_biased_overlap_weighs_the_overlap_at_every_depth(seed: int, p: float) -> None:
    batch, x, y = scores(seed, shortest=0)
    pairs = zip(real(x, batch.mask), real(y, batch.mask), strict=True)
    same(rank_biased_overlap(x, y, batch.mask, p), [slow_rank_biased_overlap(a, b, p) for a, b in pairs])


def test_equal_orders_overlap_completely_and_ties_go_to_the_lowest_index() -> None:
    x = torch.tensor([[0.0, 0.0, 1.0, -math.inf]])
    mask = torch.ones(1, 4, dtype=torch.bool)
    assert float(rank_biased_overlap(x, x, mask)) == pytest.approx(1)
    assert float(top_k_overlap(x, torch.tensor([[9.0, 0.0, 8.0, 0.0]]), mask, 2)) == 1


@pytest.mark.slow
@given(SEEDS)
def test_average_precision_is_scikit_learns(seed: int) -> None:
    batch, x, y = scores(seed)
    relevant = y > y.mean()
    expected = []
    for score, wanted in zip(real(x, batch.mask), real(relevant, batch.mask), strict=True):
        expected.append(average_precision_score(wanted, score) if wanted.any() else math.nan)
        if wanted.any():
            assert slow_average_precision(score, wanted) == pytest.approx(expected[-1])
    same(average_precision(x, relevant, batch.mask), expected)


def test_average_precision_is_one_where_all_and_undefined_where_none_is_relevant() -> None:
    mask = torch.tensor([[True, True, False], [True, True, False], [False, False, False]])
    relevant = torch.tensor([[True, True, False], [False, False, True], [True, True, True]])
    value = average_precision(torch.rand(3, 3), relevant, mask)
    assert float(value[0]) == 1
    assert value[1:].isnan().all()


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=30)
def test_padding_and_the_order_of_the_batch_change_nothing(seed: int) -> None:
    batch, x, y = scores(seed)
    order = torch.from_numpy(batch.rng.permutation(len(x)))
    relevant = y > 0
    more = padded(batch.mask, 2, 3, fill=0.0)
    measures = [
        lambda a, b, m: kendall(a, b, m).tau,
        lambda a, b, m: kendall(a, b, m).p_value,
        spearman,
        lambda a, b, m: top_k_overlap(a, b, m, 3),
        rank_biased_overlap,
    ]
    for measure in measures:
        before = measure(x, y, batch.mask)
        same(measure(padded(x, 2, 3), padded(y, 2, 3), more), before.tolist())
        same(measure(x[order], y[order], batch.mask[order]), before[order].tolist())
    before = average_precision(x, relevant, batch.mask)
    same(average_precision(padded(x, 2, 3), padded(relevant, 2, 3), more), before.tolist())

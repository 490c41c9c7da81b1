from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import jensenshannon

from attentest.measures.divergence import (
    LN2,
    jensen_shannon,
    sparse_jensen_shannon,
    total_variation,
    xlogx,
)

COUNTS = arrays(np.float64, (2, 5), elements=st.integers(0, 9).map(float)).filter(lambda a: (a.sum(1) > 0).all())


def distributions(counts: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(counts / counts.sum(1, keepdims=True))


def slow_kullback_leibler(p: list[float], q: list[float]) -> float:
    total = 0.0
    for a, b in zip(p, q, strict=True):
        if a > 0:
            total += math.inf if b == 0 else a * math.log(a / b)
    return total


def slow_jensen_shannon(p: list[float], q: list[float]) -> float:
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return (slow_kullback_leibler(p, middle) + slow_kullback_leibler(q, middle)) / 2


@given(COUNTS)
def test_both_are_what_their_definitions_say(counts: np.ndarray) -> None:
    p, q = distributions(counts)
    first, second = p.tolist(), q.tolist()
    assert float(jensen_shannon(p, q)) == pytest.approx(slow_jensen_shannon(first, second), abs=1e-14)
    assert float(total_variation(p, q)) == pytest.approx(
        sum(abs(a - b) for a, b in zip(first, second, strict=True)) / 2, abs=1e-14
    )


@given(COUNTS)
def test_scipy_agrees(counts: np.ndarray) -> None:
    p, q = distributions(counts)
    assert float(jensen_shannon(p, q)) == pytest.approx(jensenshannon(p, q) ** 2, abs=1e-12)


@given(COUNTS)
def test_jensen_shannon_is_symmetric_and_between_zero_and_ln_2(counts: np.ndarray) -> None:
    p, q = distributions(counts)
    value = float(jensen_shannon(p, q))
    assert value == float(jensen_shannon(q, p))
    assert 0 <= value <= LN2
    assert float(jensen_shannon(p, p)) == 0
    # Lin's inequality and Pinsker's.
    assert float(total_variation(p, q)) ** 2 / 2 - 1e-12 <= value <= LN2 * float(total_variation(p, q)) + 1e-12


def test_disjoint_distributions_are_ln_2_and_1_apart() -> None:
    p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.0, 0.0, 1.0])
    assert float(jensen_shannon(p, q)) == LN2
    assert float(total_variation(p, q)) == 1


def test_the_smallest_positive_number_does_not_break_the_logarithm() -> None:
    p, q = torch.tensor([5e-324, 1.0], dtype=torch.float64), torch.tensor([0.0, 1.0], dtype=torch.float64)
    assert float(jensen_shannon(p, q)) == 0


def test_leading_axes_broadcast_and_the_result_is_float64() -> None:
    p, q = torch.rand(4, 1, 3).softmax(-1), torch.rand(2, 3).softmax(-1)
    for measure in (jensen_shannon, total_variation):
        value = measure(p, q)
        assert value.shape == (4, 2)
        assert value.dtype == torch.float64
        assert float(value[3, 1]) == pytest.approx(float(measure(p[3, 0], q[1])))


def test_the_gradient_of_jensen_shannon_is_half_the_logarithm_of_q_over_m() -> None:
    p = torch.tensor([0.3, 0.7, 0.0, 0.0], dtype=torch.float64)
    q = torch.tensor([0.2, 0.0, 0.8, 0.0], dtype=torch.float64, requires_grad=True)
    (gradient,) = torch.autograd.grad(jensen_shannon(q, p), q)
    assert gradient.isfinite().all()
    assert float(gradient[0]) == pytest.approx(0.5 * math.log(0.2 / 0.25))
    assert float(gradient[2]) == pytest.approx(0.5 * math.log(2))


@given(COUNTS, st.integers(0, 2**5 - 1))
def test_a_mixture_of_few_tokens_has_the_divergence_of_its_dense_form(counts: np.ndarray, chosen: int) -> None:
    alpha, dense = distributions(counts)
    support = [i for i in range(5) if chosen >> i & 1 or dense[i] > 0]
    value = sparse_jensen_shannon(alpha[support], dense[support])
    assert float(value) == pytest.approx(float(jensen_shannon(dense, alpha)), abs=1e-14)


def test_x_ln_x_is_zero_at_zero() -> None:
    assert xlogx(torch.tensor([0.0, 1.0, math.e], dtype=torch.float64)).tolist() == pytest.approx([0, 0, math.e])

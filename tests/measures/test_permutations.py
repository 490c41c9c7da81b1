from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.ragged import noise_like, padded, ragged, real

from attentest.measures.permutations import ENUMERABLE, all_permutations, moments

SEEDS = st.integers(0, 10_000)


@given(SEEDS)
@settings(max_examples=40)
def test_moments_are_those_of_all_permutations(seed: int) -> None:
    batch = ragged(seed, longest=6)
    z = noise_like(batch, scale=3)
    found = moments(batch.weights, z, batch.mask)
    for row, (alpha, margins) in enumerate(zip(real(batch.weights, batch.mask), real(z, batch.mask), strict=True)):
        logits = [float(np.dot(order, margins)) for order in itertools.permutations(alpha)]
        expected = np.mean(logits), np.var(logits), min(logits), max(logits)
        assert [float(part[row]) for part in found] == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=20)
def test_moments_know_nothing_of_padding(seed: int) -> None:
    batch = ragged(seed)
    z = noise_like(batch)
    before = moments(batch.weights, z, batch.mask)
    after = moments(padded(batch.weights, 1, 4), padded(z, 1, 4), padded(batch.mask, 1, 4, fill=0.0))
    for a, b in zip(before, after, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-13)


def test_one_token_uniform_attention_and_constant_margins_do_not_vary() -> None:
    mask = torch.tensor([[True, False, False], [True, True, True], [True, True, True]])
    weights = torch.tensor([[1.0, 0.0, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0.0]], dtype=torch.float64)
    z = torch.tensor([[2.0, 9.0, 9.0], [1.0, 2.0, 6.0], [4.0, 4.0, 4.0]], dtype=torch.float64)
    found = moments(weights, z, mask)
    assert found.mean.tolist() == pytest.approx([2, 3, 4])
    assert found.variance.tolist() == pytest.approx([0, 0, 0])
    assert found.lowest.tolist() == pytest.approx([2, 3, 4])
    assert found.highest.tolist() == pytest.approx([2, 3, 4])


@given(SEEDS)
@settings(max_examples=30)
def test_short_texts_are_enumerated_and_long_ones_are_not(seed: int) -> None:
    batch = ragged(seed, shortest=0, longest=7)
    order, valid = all_permutations(batch.mask)
    here = torch.arange(batch.mask.shape[1])
    for row, keep in enumerate(batch.mask):
        length = int(keep.sum())
        listed = order[row][valid[row]]
        if length > ENUMERABLE:
            assert not len(listed)
            continue
        assert len(listed) == math.factorial(length)
        assert (listed[:, ~keep] == here[~keep]).all()
        expected = set(itertools.permutations(here[keep].tolist()))
        assert set(map(tuple, listed[:, keep].tolist())) == expected
        assert (order[row][~valid[row]] == here).all()


def test_the_enumeration_is_no_wider_than_the_longest_text_it_lists() -> None:
    assert all_permutations(torch.ones(2, 3, dtype=torch.bool)).order.shape == (2, 6, 3)
    assert all_permutations(torch.ones(2, 9, dtype=torch.bool)).valid.tolist() == [[False], [False]]


def test_gathering_by_the_enumeration_reproduces_the_moments() -> None:
    batch = ragged(8, shortest=2, longest=5)
    z = noise_like(batch)
    order, valid = all_permutations(batch.mask)
    moved = batch.weights[:, None].expand(-1, order.shape[1], -1).gather(-1, order)
    logits = (moved * z[:, None]).sum(-1)
    found = moments(batch.weights, z, batch.mask)
    for row in range(len(z)):
        assert float(logits[row][valid[row]].mean()) == pytest.approx(float(found.mean[row]))
        assert float(logits[row][valid[row]].max()) == pytest.approx(float(found.highest[row]))

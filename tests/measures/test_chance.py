from __future__ import annotations

import math
from collections import Counter
from itertools import permutations as every_order

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.support.ragged import padded, ragged

from attentest.measures import chance
from attentest.measures.chance import normals, permutations, uniforms

KEYS = torch.tensor([5, -3, 2**62, 0, 123456789, 5])


def splitmix(bits: int) -> int:
    """The finaliser with Python's integers."""
    whole = (1 << 64) - 1
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & whole
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & whole
    return bits ^ (bits >> 31)


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_the_hash_is_splitmix64(numbers: list[int]) -> None:
    ours = chance.mixed_bits(torch.tensor(numbers))
    assert [bits % 2**64 for bits in ours.tolist()] == [splitmix(number % 2**64) for number in numbers]


def test_numbers_are_those_of_every_release() -> None:
    first = uniforms(torch.tensor([1]), 1, 3, seed=0)[0, 0]
    assert first.tolist() == pytest.approx([0.4720472287739885, 0.4209345139830667, 0.35136788760341264], abs=0)


def test_uniforms_depend_on_seed_stream_key_draw_and_position() -> None:
    base = uniforms(KEYS, 4, 7, seed=1)
    assert base.shape == (6, 4, 7)
    assert base.dtype == torch.float64
    assert torch.equal(base[0], base[5])
    assert len(set(base[:5].flatten().tolist())) == 5 * 4 * 7
    assert not torch.isclose(base, uniforms(KEYS, 4, 7, seed=2)).any()
    assert not torch.isclose(base, uniforms(KEYS, 4, 7, seed=1, stream="other")).any()


def test_cutting_reordering_and_widening_change_no_number() -> None:
    order = torch.tensor([3, 0, 4])
    for draw in (uniforms, normals):
        base = draw(KEYS, 4, 7, seed=1)
        assert torch.equal(draw(KEYS[order], 2, 5, seed=1), base[order, :2, :5])


def test_a_mask_counts_along_real_tokens() -> None:
    batch = ragged(0)
    keys = KEYS[: len(batch.mask)]
    for draw in (uniforms, normals):
        plain = draw(keys, 3, batch.mask.shape[1], seed=1)
        placed = draw(keys, 3, batch.mask.shape[1], 1, "", batch.mask)
        for row, keep in enumerate(batch.mask):
            assert torch.equal(placed[row][:, keep], plain[row, :, : int(keep.sum())])
            assert (placed[row][:, ~keep] == 0).all()


def test_uniforms_are_uniform_and_normals_are_normal() -> None:
    keys = torch.arange(200)
    flat = uniforms(keys, 10, 10, seed=3).flatten().numpy()
    assert 0 <= flat.min() < flat.max() < 1
    assert stats.kstest(flat, "uniform").pvalue > 1e-3
    assert stats.kstest(normals(keys, 10, 10, seed=3).flatten().numpy(), "norm").pvalue > 1e-3


def test_neighbouring_numbers_do_not_correlate() -> None:
    draws = uniforms(torch.arange(300), 12, 12, seed=4).numpy()
    for a, b in ((draws[1:], draws[:-1]), (draws[:, 1:], draws[:, :-1]), (draws[..., 1:], draws[..., :-1])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 4 / math.sqrt(a.size)


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_permutations_move_real_tokens_only(seed: int) -> None:
    batch = ragged(seed, shortest=0)
    order = permutations(KEYS[: len(batch.mask)], 5, batch.mask, seed)
    for row, keep in zip(order, batch.mask, strict=True):
        here = torch.arange(len(keep))
        for draw in row:
            assert sorted(draw.tolist()) == here.tolist()
            assert torch.equal(draw[~keep], here[~keep])


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_permutations_do_not_know_their_batch_or_their_padding(seed: int) -> None:
    batch = ragged(seed)
    keys = KEYS[: len(batch.mask)]
    base = permutations(keys, 5, batch.mask, seed)
    one = permutations(keys[2:3], 3, padded(batch.mask, 2, 4, fill=0.0)[2:3], seed)
    assert torch.equal(one[0, :, 2:-4] - 2, base[2, :3])
    # The i-th real token keeps its fate, wherever it stands.
    keep = batch.mask[2]
    left = torch.arange(keep.sum() + 1)[None] < keep.sum()
    packed = permutations(keys[2:3], 5, left, seed)[0, :, :-1]
    assert torch.equal(torch.arange(len(keep))[keep][packed], base[2][:, keep])


def test_every_permutation_is_equally_likely() -> None:
    mask = torch.tensor([[False, True, True, False, True, True]]).expand(50, -1)
    order = permutations(torch.arange(50), 480, mask, seed=9)[..., mask[0]]
    seen = Counter(map(tuple, order.flatten(0, 1).tolist()))
    assert set(seen) == set(every_order([1, 2, 4, 5]))
    assert stats.chisquare(list(seen.values())).pvalue > 1e-3


def test_streams_permute_differently() -> None:
    mask = torch.ones(1, 30, dtype=torch.bool)
    one, other = (permutations(KEYS[:1], 1, mask, 0, stream) for stream in ("", "again"))
    assert not torch.equal(one, other)

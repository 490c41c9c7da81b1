from __future__ import annotations

import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measures.adversary.reachable import reachable
from tests.support.ragged import Ragged, noise_like, padded, ragged

from attentest.measures.adversary.bracket import Bracket, bracket
from attentest.measures.adversary.strongest import strongest_adversary, unconstrained_divergence
from attentest.measures.divergence import jensen_shannon, total_variation

SEEDS = st.integers(0, 100_000)


def instance(seed: int, outcomes: int, **options: int) -> tuple[Ragged, torch.Tensor]:
    batch = ragged(seed, **options)
    return batch, noise_like(batch, outcomes, scale=batch.rng.choice([0.5, 1.5, 5.0]))


def predictions(weights: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    return (weights[..., None, :] @ z).squeeze(-2).softmax(-1)


def check(batch: Ragged, z: torch.Tensor, epsilon: float, found: Bracket) -> None:
    assert (found.lower <= found.upper).all()
    assert (found.weights >= 0).all()
    assert (found.weights[~batch.mask] == 0).all()
    torch.testing.assert_close(found.weights.sum(-1), torch.ones_like(found.lower), rtol=0, atol=1e-9)
    torch.testing.assert_close(jensen_shannon(found.weights, batch.weights), found.lower, rtol=0, atol=1e-9)
    change = total_variation(predictions(found.weights, z), predictions(batch.weights, z))
    assert (change <= epsilon + 1e-9).all()


@pytest.mark.slow
@given(SEEDS, st.integers(2, 12), st.sampled_from([0.0, 0.01, 0.05, 0.4, 1.0]))
@settings(max_examples=50)
def test_the_lower_bound_is_attained_and_the_bounds_are_in_order(seed: int, outcomes: int, epsilon: float) -> None:
    batch, z = instance(seed, outcomes)
    check(batch, z, epsilon, bracket(batch.weights, z, batch.mask, epsilon))


@pytest.mark.slow
@given(SEEDS, st.integers(3, 12), st.sampled_from([0.01, 0.05, 0.2]))
@settings(max_examples=40, deadline=None)
def test_no_feasible_attention_is_beyond_the_upper_bound(seed: int, outcomes: int, epsilon: float) -> None:
    batch, z = instance(seed, outcomes)
    found = bracket(batch.weights, z, batch.mask, epsilon)
    check(batch, z, epsilon, found)
    for row, keep in enumerate(batch.mask):
        alpha, logits = batch.weights[row][keep], z[row][keep]
        tried = torch.from_numpy(reachable(alpha.numpy(), logits.numpy(), epsilon, batch.rng))
        assert (jensen_shannon(tried, alpha[None]) <= found.upper[row] + 1e-9).all()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")
@pytest.mark.parametrize("outcomes", [9, 12, 1000])
def test_memory_does_not_grow_with_the_number_of_outcomes(outcomes: int) -> None:
    """A thousand outcomes, or sets of twelve tokens out of fourteen, within 600 MB beyond what torch takes."""
    code = f"""
import resource, torch
from attentest.measures.adversary.bracket import bracket
torch.set_num_threads(1)
torch.manual_seed(0)
weights, z = torch.rand(24, 40).softmax(-1), torch.randn(24, 40, {outcomes})
bracket(weights[:1, :3], z[:1, :3, :3], torch.ones(1, 3, dtype=torch.bool), 0.05)
now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (now + 600_000_000,) * 2)
found = bracket(weights, z, torch.ones(24, 40, dtype=torch.bool), 0.05)
assert (found.lower <= found.upper).all()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-400:]


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=30)
def test_two_outcomes_have_one_answer(seed: int) -> None:
    batch, z = instance(seed, 2)
    found = bracket(batch.weights, z, batch.mask, 0.05)
    exact = strongest_adversary(batch.weights, z[..., 1] - z[..., 0], batch.mask, 0.05)
    assert torch.equal(found.lower, found.upper)
    assert torch.equal(found.lower, exact.divergence)
    assert torch.equal(found.weights, exact.weights)


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=30)
def test_an_outcome_that_never_happens_changes_nothing(seed: int) -> None:
    batch, z = instance(seed, 2)
    exact = strongest_adversary(batch.weights, z[..., 1] - z[..., 0], batch.mask, 0.05).divergence
    never = torch.cat([z, torch.full_like(z[..., :1], -60.0)], -1)
    found = bracket(batch.weights, never, batch.mask, 0.05)
    assert (found.lower <= exact + 1e-9).all()
    assert (found.upper >= exact - 1e-9).all()
    assert (found.upper - found.lower < 1e-6).all()


@pytest.mark.slow
@given(SEEDS, st.integers(3, 4))
@settings(max_examples=15)
def test_all_room_and_equal_logits_leave_the_unconstrained_maximum(seed: int, outcomes: int) -> None:
    batch, z = instance(seed, outcomes)
    free = unconstrained_divergence(batch.weights, batch.mask)
    same = z[:, :1].expand_as(z)
    for logits, epsilon in ((z, 1.0), (same, 0.01)):
        found = bracket(batch.weights, logits, batch.mask, epsilon)
        torch.testing.assert_close(found.lower, free, rtol=0, atol=1e-9)
        torch.testing.assert_close(found.upper, free, rtol=0, atol=1e-9)


def test_for_three_outcomes_the_bounds_nearly_always_meet() -> None:
    batch = ragged(5, batch=60, shortest=4, longest=16)
    found = bracket(batch.weights, noise_like(batch, 3, scale=1.5), batch.mask, 0.01)
    assert ((found.upper - found.lower) < 0.01).double().mean() >= 0.9


@pytest.mark.slow
@given(SEEDS)
@settings(max_examples=30)
def test_a_start_is_never_made_worse(seed: int) -> None:
    batch, z = instance(seed, 4)
    starts = noise_like(batch, 3, scale=2).transpose(1, 2).masked_fill(~batch.mask[:, None], -torch.inf).softmax(-1)
    starts = torch.lerp(batch.weights[:, None].expand_as(starts), starts, 0.05)
    change = total_variation((starts @ z).softmax(-1), predictions(batch.weights, z)[:, None])
    feasible = change <= 0.0499
    found = bracket(batch.weights, z, batch.mask, 0.05, starts)
    check(batch, z, 0.05, found)
    reached = jensen_shannon(starts, batch.weights[:, None]).where(feasible, 0.0).amax(-1)
    assert (found.lower >= reached - 1e-12).all()


@pytest.mark.slow
@given(SEEDS, st.sampled_from([3, 10]))
@settings(max_examples=20)
def test_padding_and_the_order_of_the_batch_change_nothing(seed: int, outcomes: int) -> None:
    batch, z = instance(seed, outcomes)
    order = torch.from_numpy(batch.rng.permutation(len(z)))
    before = bracket(batch.weights, z, batch.mask, 0.05)
    moved = bracket(batch.weights[order], z[order], batch.mask[order], 0.05)
    wider = bracket(padded(batch.weights, 2, 3), padded(z, 2, 3), padded(batch.mask, 2, 3, fill=0.0), 0.05)
    for bound in ("lower", "upper"):
        torch.testing.assert_close(getattr(moved, bound), getattr(before, bound)[order], rtol=0, atol=1e-9)
        torch.testing.assert_close(getattr(wider, bound), getattr(before, bound), rtol=0, atol=1e-9)


def test_one_token_cannot_move_and_no_tokens_are_undefined() -> None:
    mask = torch.tensor([[True, False], [False, False], [True, True]])
    weights = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.5, 0.5]])
    found = bracket(weights, torch.randn(3, 2, 3), mask, 0.05)
    assert found.lower[0] == found.upper[0] == 0
    assert found.lower[1].isnan()
    assert found.upper[1].isnan()
    assert found.upper[2] > 0


@pytest.mark.slow
def test_long_texts_are_bounded_without_their_triples() -> None:
    batch = ragged(2, batch=3, shortest=60, longest=90)
    z = noise_like(batch, 3)
    found = bracket(batch.weights, z, batch.mask, 0.01)
    check(batch, z, 0.01, found)


def test_one_outcome_is_refused() -> None:
    with pytest.raises(ValueError, match="give one sigmoid as two outcomes"):
        bracket(torch.ones(1, 1), torch.ones(1, 1, 1), torch.ones(1, 1, dtype=torch.bool), 0.01)

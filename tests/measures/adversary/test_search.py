from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest
import torch
from tests.support.ragged import Ragged, noise_like, padded, ragged
from torch import Tensor

from attentest.measures.adversary import search
from attentest.measures.adversary.search import relaxed_search, relaxed_search_affine
from attentest.measures.adversary.strongest import strongest_adversary
from attentest.measures.divergence import jensen_shannon, total_variation

EPSILON = 0.01


def literal_search(
    decode: Callable[[Tensor], Tensor], batch: Ragged, noise: Tensor, steps: int, penalty: float = 500.0
) -> Tensor:
    """The relaxed objective below eq. 2 as printed, but for the sign of the penalty, by autograd and torch's Adam."""
    k = noise.shape[1]
    logits = (3.0 * noise).requires_grad_()
    adam = torch.optim.Adam([logits], lr=0.01)
    before = decode(batch.weights[:, None])

    def attention() -> Tensor:
        return logits.masked_fill(~batch.mask[:, None], -torch.inf).softmax(-1)

    for _ in range(steps):
        alphas = attention()
        objective = torch.zeros(())
        for i in range(k):
            objective = objective + jensen_shannon(alphas[:, i], batch.weights).sum()
            change = total_variation(decode(alphas[:, i : i + 1]), before).squeeze(1)
            objective = objective - penalty / k * (change - EPSILON).clamp(min=0).sum()
        for i, j in combinations(range(k), 2):
            objective = objective + jensen_shannon(alphas[:, i], alphas[:, j]).sum() / (k * (k - 1))
        adam.zero_grad()
        (-objective).backward()
        adam.step()
    return attention().detach()


def affine(z: Tensor) -> Callable[[Tensor], Tensor]:
    return lambda weights: (weights.to(z.dtype) @ z).softmax(-1)


def scene(outcomes: int, k: int, seed: int = 0, batch: int = 5) -> tuple[Ragged, Tensor, Tensor]:
    rows = ragged(seed, batch=batch)
    z = noise_like(rows, outcomes, scale=2).masked_fill(~rows.mask[..., None], 0.0)
    return rows, z, noise_like(rows, k).transpose(1, 2).contiguous()


def probabilities(decode: Callable[[Tensor], Tensor], rows: Ragged) -> Tensor:
    return decode(rows.weights[:, None]).squeeze(1)


@pytest.mark.slow
@pytest.mark.parametrize(("outcomes", "k", "steps"), [(2, 5, 120), (3, 3, 80), (4, 2, 40), (12, 2, 40), (2, 1, 40)])
def test_both_searches_walk_the_literal_path(outcomes: int, k: int, steps: int) -> None:
    rows, z, noise = scene(outcomes, k)
    decode = affine(z)
    expected = literal_search(decode, rows, noise, steps)
    general = relaxed_search(decode, rows.weights, rows.mask, probabilities(decode, rows), EPSILON, noise, steps=steps)
    by_hand = relaxed_search_affine(z, rows.weights, rows.mask, EPSILON, noise, steps=steps)
    for found in (general, by_hand):
        torch.testing.assert_close(found.weights, expected, rtol=0, atol=1e-9)
        torch.testing.assert_close(found.divergence, jensen_shannon(expected, rows.weights[:, None]), rtol=0, atol=1e-9)
        change = total_variation(decode(expected), probabilities(decode, rows)[:, None])
        torch.testing.assert_close(found.change, change, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_any_differentiable_decoder_can_be_searched() -> None:
    rows, z, noise = scene(3, 2)

    def decode(weights: Tensor) -> Tensor:
        return (3 * torch.tanh(weights.double() @ z)).softmax(-1)

    found = relaxed_search(decode, rows.weights, rows.mask, probabilities(decode, rows), EPSILON, noise, steps=50)
    torch.testing.assert_close(found.weights, literal_search(decode, rows, noise, 50), rtol=0, atol=1e-9)


@pytest.mark.slow
def test_every_instance_ends_where_it_would_alone() -> None:
    rows, z, noise = scene(2, 5)
    decode = affine(z)
    general = relaxed_search(decode, rows.weights, rows.mask, probabilities(decode, rows), EPSILON, noise, steps=60)
    by_hand = relaxed_search_affine(z, rows.weights, rows.mask, EPSILON, noise)
    for i in range(len(z)):
        one = slice(i, i + 1)
        before = probabilities(decode, rows)[one]
        alone = relaxed_search(affine(z[one]), rows.weights[one], rows.mask[one], before, EPSILON, noise[one], steps=60)
        torch.testing.assert_close(alone.weights, general.weights[one], rtol=0, atol=1e-6)
        alone = relaxed_search_affine(z[one], rows.weights[one], rows.mask[one], EPSILON, noise[one])
        torch.testing.assert_close(alone.weights, by_hand.weights[one], rtol=0, atol=1e-6)


def test_padding_and_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, z, noise = scene(3, 4)
    before = relaxed_search_affine(z, rows.weights, rows.mask, EPSILON, noise, steps=200)
    monkeypatch.setattr(search, "NUMBERS_AT_ONCE", {"cpu": 1})
    after = relaxed_search_affine(
        padded(z, 2, 3),
        padded(rows.weights, 2, 3),
        padded(rows.mask, 2, 3, fill=0.0),
        EPSILON,
        padded(noise, 2, 3, dim=2),
        steps=200,
    )
    torch.testing.assert_close(after.weights[..., 2:-3], before.weights, rtol=0, atol=1e-6)
    assert (after.weights[:, :, ~padded(rows.mask, 2, 3, fill=0.0).any(0)] == 0).all()


def test_the_search_stays_below_what_is_certified_and_mostly_within_epsilon() -> None:
    rows, z, noise = scene(2, 5, seed=3, batch=40)
    found = relaxed_search_affine(z, rows.weights, rows.mask, EPSILON, noise)
    most = strongest_adversary(rows.weights, z[..., 1] - z[..., 0], rows.mask, EPSILON).divergence
    kept = found.change <= EPSILON
    assert (found.divergence.where(kept, 0.0) <= most[:, None] + 1e-9).all()
    assert (found.change < 2 * EPSILON).double().mean() > 0.9


def test_one_token_and_none_are_left_alone() -> None:
    mask = torch.tensor([[True, False], [False, False]])
    weights, z = torch.tensor([[1.0, 0.0], [0.0, 0.0]]), torch.randn(2, 2, 2)
    noise = torch.randn(2, 3, 2)
    for found in (
        relaxed_search_affine(z, weights, mask, EPSILON, noise, steps=5),
        relaxed_search(
            lambda w: torch.full((2, 3, 2), 0.5) + 0 * w,
            weights,
            mask,
            torch.full((2, 2), 0.5),
            EPSILON,
            noise,
            steps=5,
        ),
    ):
        assert found.weights[0].tolist() == [[1.0, 0.0]] * 3
        assert (found.weights[1] == 0).all()
        assert (found.divergence == 0).all()
        assert (found.change == 0).all()


def test_a_float32_subject_is_asked_in_float32() -> None:
    rows, z, noise = scene(2, 3)
    seen = set()

    def decode(weights: Tensor) -> Tensor:
        seen.add(weights.dtype)
        return (weights @ z.float()).softmax(-1)

    narrow = rows._replace(weights=rows.weights.float())
    found = relaxed_search(decode, narrow.weights, rows.mask, probabilities(decode, narrow), EPSILON, noise, steps=20)
    wide = relaxed_search_affine(z, rows.weights, rows.mask, EPSILON, noise, steps=20)
    assert seen == {torch.float32}
    assert found.divergence.dtype == torch.float64
    torch.testing.assert_close(found.weights, wide.weights, rtol=0, atol=1e-3)

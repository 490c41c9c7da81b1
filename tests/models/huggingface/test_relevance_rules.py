"""The rules of AttnLRP, each against the equation of the paper, written out."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from transformers.activations import ACT2FN

from attentest.models.huggingface.attending import Pass, SeenActivation, attend, under_way
from attentest.models.huggingface.places import mix
from attentest.models.huggingface.rules import Rules

functional = nn.functional


def handed_back(step: Callable[..., Tensor], relevance: Tensor, *inputs: Tensor) -> tuple[list[Tensor], Rules]:
    """Each input's relevance when an output has this relevance."""
    leaves, rules = [value.clone().requires_grad_() for value in inputs], Rules(len(inputs[0]))
    with under_way(Pass(rules=rules)):
        output = step(*leaves)
    slopes = torch.autograd.grad(output, leaves, relevance / output.detach())
    return [(leaf * slope).detach() for leaf, slope in zip(leaves, slopes, strict=True)], rules


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def test_a_linear_map_hands_back_in_proportion_and_its_bias_keeps_its_share() -> None:
    layer, given, relevance = nn.Linear(3, 4).double(), drawn(2, 3), drawn(2, 4, seed=1)
    (found,), rules = handed_back(layer, relevance, given)
    weight, bias = layer.weight.detach(), layer.bias.detach()
    parts = given[:, None] * weight
    whole = parts.sum(-1) + bias
    torch.testing.assert_close(found, (parts / whole[..., None] * relevance[..., None]).sum(1))
    torch.testing.assert_close(rules.absorbed["bias"], (bias / whole * relevance).sum(-1))


def test_the_softmax_hands_back_by_its_expansion() -> None:
    """R_i = x_i (R_i − s_i Σ_j R_j); what is missing is the constant's."""
    given, relevance = drawn(2, 5), drawn(2, 5, seed=1)
    (found,), rules = handed_back(lambda x: x.softmax(-1), relevance, given)
    wanted = given * (relevance - given.softmax(-1) * relevance.sum(-1, keepdim=True))
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(rules.absorbed["softmax"], relevance.sum(-1) - wanted.sum(-1))


@pytest.mark.parametrize("multiply", [torch.mul, lambda a, b: a * b, lambda a, b: functional.silu(a) * b])
def test_factors_get_half_each(multiply: Callable[[Tensor, Tensor], Tensor]) -> None:
    relevance = drawn(2, 5, seed=2)
    (first, second), _ = handed_back(multiply, relevance, drawn(2, 5), drawn(2, 5, seed=1))
    torch.testing.assert_close(first, relevance / 2)
    torch.testing.assert_close(second, relevance / 2)


def test_an_attention_layer_by_hand() -> None:
    """Equations 10 to 15 of Achtibat et al.: loops over queries, keys and dimensions."""
    query, key, value = (drawn(1, 1, 3, 2, seed=seed) for seed in range(3))
    relevance = drawn(1, 3, 1, 2, seed=3)
    module = nn.Module().eval()

    def step(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attend(module, q, k, v, torch.tensor([[[[0.0, 0.0, -torch.inf]]]], dtype=torch.float64))[0]

    found, rules = handed_back(step, relevance, query, key, value)
    q, k, v, r = query[0, 0], key[0, 0], value[0, 0], relevance[0, :, 0]
    scores = q @ k.T / 2**0.5
    scores[:, 2] = -torch.inf
    weights = scores.softmax(-1)
    output = weights @ v
    wanted = [torch.zeros(3, 2, dtype=torch.float64) for _ in range(3)]
    for j in range(3):
        of_weights = torch.zeros(3, dtype=torch.float64)
        for i in range(3):
            for p in range(2):
                share = weights[j, i] * v[i, p] * r[j, p] / (2 * output[j, p])
                of_weights[i] += share
                wanted[2][i, p] += share
        for i in range(2):
            of_score = scores[j, i] * (of_weights[i] - weights[j, i] * of_weights.sum())
            for p in range(2):
                share = q[j, p] * k[i, p] / 2**0.5 * of_score / (2 * scores[j, i])
                wanted[0][j, p] += share
                wanted[1][i, p] += share
    for ours, by_hand in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours[0, 0], by_hand)
    left = sum(part.sum() for part in found) + rules.absorbed["softmax"].sum()
    torch.testing.assert_close(left, relevance.sum())


def test_norms_hold_their_divisor() -> None:
    layer, given, relevance = nn.LayerNorm(5).double(), drawn(2, 5), drawn(2, 5, seed=1)
    with torch.no_grad():
        layer.weight.copy_(drawn(5, seed=2))
        layer.bias.copy_(drawn(5, seed=3))
    (found,), rules = handed_back(layer, relevance, given)
    spread = (given.var(-1, correction=0, keepdim=True) + layer.eps).sqrt()
    per_unit = relevance / layer(given).detach() * layer.weight.detach() / spread
    torch.testing.assert_close(found, given * (per_unit - per_unit.mean(-1, keepdim=True)))
    torch.testing.assert_close(found.sum(-1) + rules.absorbed["bias"], relevance.sum(-1))
    for step in (
        nn.RMSNorm(5).double(),
        lambda x: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6),
        lambda x: x / x.norm(dim=-1, keepdim=True),
        lambda x: x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).pow(-0.5),
    ):
        (found,), _ = handed_back(step, relevance, given)
        torch.testing.assert_close(found, relevance)


@pytest.mark.parametrize(
    "name", ["gelu", "gelu_new", "quick_gelu", "gelu_fast", "silu", "relu", "tanh", "mish", "relu2"]
)
def test_activations_hand_back_all_they_are_given(name: str) -> None:
    act, given = ACT2FN[name], drawn(2, 500)
    given[0, :3] = torch.tensor([0.0, 1e-6, -1e-6])
    given = given.where(act(given) != 0, 1.0)
    before = act(given)
    mix(act, SeenActivation)
    assert torch.equal(act(given), before)
    relevance = drawn(2, 500, seed=1) * before
    (found,), rules = handed_back(act, relevance, given)
    torch.testing.assert_close(found, relevance, atol=1e-7, rtol=1e-7)
    assert rules.absorbed["bias"].abs().max() == 0


def test_what_a_sigmoid_is_at_zero_keeps_its_share() -> None:
    given, relevance = drawn(2, 5), drawn(2, 5, seed=1)
    (found,), rules = handed_back(torch.sigmoid, relevance, given)
    torch.testing.assert_close(found.sum(-1) + rules.absorbed["bias"], relevance.sum(-1))
    torch.testing.assert_close(rules.absorbed["bias"], (0.5 / given.sigmoid() * relevance).sum(-1))


def test_sums_and_choices_account_for_constants() -> None:
    given, other, relevance = drawn(2, 5), drawn(2, 5, seed=4), drawn(2, 5, seed=1)
    which = other > 0
    for step in (
        lambda x: x + other,
        lambda x: other - x,
        lambda x: 3 - x,
        lambda x: x - other,
        lambda x: torch.where(which, x, other),
        lambda x: x.where(which, other),
        lambda x: x.masked_fill(which, 2.0),
    ):
        (found,), rules = handed_back(step, relevance, given)
        assert not rules.unknown
        torch.testing.assert_close(found.sum(-1) + sum(rules.absorbed.values()), relevance.sum(-1))


@pytest.mark.parametrize(
    "step",
    [
        torch.exp,
        torch.log1p,
        lambda x: torch.einsum("bi,bi,bi->bi", x, x, x),
        lambda x: x.clone().mul_(x),
        torch.cumprod,
    ],
)
def test_an_operation_without_a_rule_is_named(step: Callable[..., Tensor]) -> None:
    value, rules = drawn(2, 5).abs().requires_grad_(), Rules(2)
    with under_way(Pass(rules=rules)):
        step(value, -1) if step is torch.cumprod else step(value)
    assert len(rules.unknown) == 1


def test_rules_are_of_one_pass_and_thread() -> None:
    """Another thread computes as ever while rules are under way, and so does this one afterwards."""
    given = drawn(2, 5).requires_grad_()

    def slope() -> Tensor:
        return torch.autograd.grad((given * given).sum(), given)[0]

    elsewhere: list[Tensor] = []
    with under_way(Pass(rules=Rules(2))):
        other = threading.Thread(target=lambda: elsewhere.append(slope()))
        other.start()
        other.join()
        torch.testing.assert_close(slope(), given.detach())
    torch.testing.assert_close(elsewhere[0], 2 * given.detach())
    torch.testing.assert_close(slope(), 2 * given.detach())

"""Gates against numerical integration, other libraries, counted draws and differences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from attentest.models.parts.selectors.gates import Bernoulli, HardConcrete, HardKumaraswamy, transitions
from attentest.models.parts.selectors.selector import Multiplier

SHAPES = [(0.5, 0.7), (1.0, 1.0), (2.0, 0.4), (0.3, 3.0), (4.0, 5.0)]


def kumaraswamy(a: float, b: float) -> HardKumaraswamy:
    return HardKumaraswamy(*(torch.full((1, 1), value, dtype=torch.double) for value in (a, b)))


@pytest.mark.parametrize(("a", "b"), SHAPES)
@pytest.mark.parametrize("value", [0.0, 0.2, 0.5, 0.97])
def test_the_tail_of_hardkuma_is_the_integral_of_kumaraswamys_density(a, b, value):
    gates = kumaraswamy(a, b)
    beyond = (value - gates.low) / (gates.high - gates.low)

    # With y = 1 − x the pole at x = 1 lies at zero, where the integrator expects it.
    def density(y: float) -> float:
        return a * b * (1 - y) ** (a - 1) * (1 - (1 - y) ** a) ** (b - 1)

    wanted, _ = integrate.quad(density, 0, 1 - beyond, limit=400)
    assert gates.above(value).item() == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("logit", [-2.0, 0.0, 1.5])
def test_the_tail_of_hard_concrete_is_that_of_logistic_noise(value, logit):
    gates = HardConcrete(torch.full((1, 1), logit, dtype=torch.double))
    x = (value - gates.low) / (gates.high - gates.low)
    wanted = stats.logistic.sf(gates.temperature * np.log(x / (1 - x)) - logit)
    assert gates.above(value).item() == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_draws_of_hardkuma_are_as_frequent_as_the_closed_form_says(shape):
    torch.manual_seed(0)
    one = kumaraswamy(*shape)
    many = HardKumaraswamy(one.a.expand(200, 200), one.b.expand(200, 200))
    drawn = many.drawn()
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    for value in (0.0, 0.25, 0.5, 0.8):
        chance = one.above(value).item()
        within = 4 * (chance * (1 - chance)) ** 0.5 / 200 + 1e-4
        assert (drawn > value).double().mean().item() == pytest.approx(chance, abs=within)
    assert (drawn == 1).double().mean().item() == pytest.approx(one.tail((1 + 0.1) / 1.2).item(), abs=0.011)


@pytest.mark.parametrize(
    "made",
    [
        lambda x: HardKumaraswamy(x[..., 0].exp(), x[..., 1].exp()),
        lambda x: HardConcrete(x[..., 0] + x[..., 1]),
    ],
    ids=["hardkuma", "hard concrete"],
)
def test_draws_and_probabilities_have_the_gradient_that_differences_show(made):
    given = torch.tensor([[[0.3, -0.2], [-0.5, 0.4], [0.1, 0.1]]], dtype=torch.double, requires_grad=True)

    def drawn(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(3)
        return made(x).drawn()

    assert torch.autograd.gradcheck(drawn, (given,))
    assert torch.autograd.gradcheck(lambda x: (made(x).kept, made(x).above(0.5)), (given,))
    (slope,) = torch.autograd.grad(drawn(given).sum(), given)
    assert slope.abs().sum() > 0


def test_transitions_are_their_mean_over_all_selections():
    chance = torch.tensor([[0.9, 0.2, 0.6, 0.7, 0.5]], dtype=torch.double)
    mask = torch.tensor([[False, True, True, True, False]])
    wanted = 0.0
    for gates in itertools.product((0, 1), repeat=3):
        weight = np.prod([c if g else 1 - c for c, g in zip(chance[0, 1:4].tolist(), gates, strict=True)])
        wanted += weight * sum(x != y for x, y in itertools.pairwise(gates))
    assert transitions(chance, mask).item() == pytest.approx(wanted)


def test_the_log_chance_of_a_draw_is_that_of_bernoulli():
    logits = torch.tensor([[0.3, -1.2, 4.0]], dtype=torch.double)
    drawn = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.double)
    wanted = torch.distributions.Bernoulli(logits=logits).log_prob(drawn)
    assert torch.allclose(Bernoulli(logits).log_chance(drawn), wanted)


def test_the_multiplier_brings_a_quantity_that_something_else_pulls_on_to_where_the_constraint_holds():
    # min (x − .9)² subject to x = .2: at the solution λ = 2 (.9 − .2).
    multiplier, x = Multiplier().train(), torch.tensor(0.9, requires_grad=True)
    for _ in range(4000):
        loss = (x - 0.9).square() + multiplier(x - 0.2)
        (slope,) = torch.autograd.grad(loss, x)
        x = (x - 0.05 * slope).detach().requires_grad_()
    assert x.item() == pytest.approx(0.2, abs=1e-3)
    assert multiplier.value.item() == pytest.approx(1.4, abs=0.01)
    held = multiplier.eval().value.clone()
    multiplier(torch.tensor(5.0))
    assert multiplier.value == held
